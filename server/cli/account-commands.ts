import {
  listAccounts,
  revealSigningSecret,
  rotateSigningSecret,
  type SigningSecrets,
} from "#accounts";
import { openAccount } from "#credits";
import { accountOption, chosenName, unknownAccount } from "./accounts.ts";
import { ACTOR, command, CommandFailure, type Result } from "./command.ts";
import { flag, required, withFallback } from "./input.ts";
import { wholeNumber } from "./input-values.ts";
import { facts, table } from "./table.ts";

const create = command({
  name: "account create",
  summary: "Creates an account with its webhook signing secret.",
  options: {
    name: required("NAME", chosenName, "The account's name, 1 to 60 characters."),
    credits: withFallback("N", wholeNumber(0, 1_000_000_000_000), {
      meaning: "Initial credits.",
      fallback: "0",
    }),
  },
  prints: '{"accountId","name","balance","signingSecret"}',
  examples: ['account create --name "Acme" --credits 1000'],
  async run({ name, credits }, context) {
    const { db, secrets } = await context.installation();
    const now = context.clock.now();
    const box = await secrets();
    const made = await openAccount(db, { name, credits, actor: ACTOR, now, secrets: box });
    const { accountId, signingSecret } = made;
    const json = { accountId, name, balance: credits, signingSecret };
    return { json, text: facts(json) };
  },
});

const list = command({
  name: "account list",
  summary: "Lists the accounts with their balances.",
  prints: '{"data":[{"accountId","name","balance","defaultSender","createdAt"}]}',
  examples: ["account list"],
  async run(_given, context) {
    const { db } = await context.installation();
    const rows = await listAccounts(db);
    const data = rows.map((row) => ({
      accountId: row.account_id,
      name: row.name,
      balance: row.balance,
      defaultSender: row.default_sender,
      createdAt: row.created_at.toISOString(),
    }));
    const lines = data.map(({ accountId, name, balance, createdAt }) => [
      accountId,
      name,
      balance,
      createdAt,
    ]);
    return { json: { data }, text: table(["ACCOUNT", "NAME", "BALANCE", "CREATED"], lines) };
  },
});

const showSecret = command({
  name: "account secret show",
  summary: "Shows the secret that signs an account's webhooks; the audit log records it.",
  options: { account: accountOption },
  prints: '{"signingSecret","previousUntil"}',
  examples: ["account secret show --account 019a85c2-5b00-7abc-8def-0123456789ab"],
  async run({ account }, context) {
    const { db, secrets } = await context.installation();
    const now = context.clock.now();
    const wish = { accountId: account, actor: ACTOR, now, secrets: await secrets() };
    const found = await revealSigningSecret(db, wish);
    return presentSecret(found ?? unknownAccount(account));
  },
});

const rotateSecret = command({
  name: "account secret rotate",
  summary:
    "Creates a new signing secret, in force at once; during the overlap the old one signs too.",
  options: {
    account: accountOption,
    overlap: withFallback("HOURS", wholeNumber(0, 72), {
      meaning:
        "How long the old secret keeps signing beside the new one, 0 to 72; 0 drops it at once, along with any older one.",
      fallback: "24",
    }),
    dropPrevious: flag(
      "Confirms a rotation during the overlap of the previous one, which drops the older secret at once.",
    ),
  },
  prints: '{"signingSecret","previousUntil"}',
  examples: ["account secret rotate --account 019a85c2-5b00-7abc-8def-0123456789ab --overlap 48"],
  async run({ account, overlap, dropPrevious }, context) {
    const { db, secrets } = await context.installation();
    const change = { accountId: account, actor: ACTOR, now: context.clock.now() };
    const rotation = { ...change, overlapHours: overlap, dropsPrevious: dropPrevious };
    const rotated = await rotateSigningSecret(db, { ...rotation, secrets: await secrets() });
    switch (rotated.outcome) {
      case "rotated":
        return presentSecret(rotated.secrets);
      case "unconfirmed":
        return refuseUnconfirmed(rotated.previousUntil);
      case "not_found":
        return unknownAccount(account);
    }
  },
});

/** Only two secrets sign at a time: receivers that still verify with the older would refuse all. */
function refuseUnconfirmed(previousUntil: Date): never {
  throw new CommandFailure(
    `Two secrets are signing now: the older one signs until ${previousUntil.toISOString()}, and another rotation would drop it now. Receivers that still use it would refuse every webhook until they have a newer one. Wait until then, or confirm with --drop-previous.`,
  );
}

function presentSecret({ current, previous }: SigningSecrets): Result {
  const json = { signingSecret: current, previousUntil: previous?.until.toISOString() ?? null };
  return { json, text: facts(json) };
}

export const accountCommands = [create, list, showSecret, rotateSecret];
