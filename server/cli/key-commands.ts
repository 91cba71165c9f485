import { scopes as knownScopes } from "#contract/words";
import { createKey, judgeNewKey, listKeys, maskKey, MAX_ACTIVE_KEYS, revokeKey } from "#accounts";
import { accountOption, chosenName, requireAccount, unknownAccount } from "./accounts.ts";
import { ACTOR, command, CommandFailure, WrongCall } from "./command.ts";
import { optional, required, several } from "./input.ts";
import { id, moment, momentAfter, oneOf } from "./input-values.ts";
import { facts, table } from "./table.ts";

const create = command({
  name: "key create",
  summary: "Creates an API key. The full key is shown only once and stored nowhere.",
  options: {
    account: accountOption,
    name: required("NAME", chosenName, "A label for the key, 1 to 60 characters."),
    scope: several("SCOPE", oneOf(knownScopes), `What it may do: ${knownScopes.join(", ")}.`),
    expires: optional(
      "TIME",
      moment,
      "When it expires: an ISO time, or a time from now such as 90d.",
    ),
  },
  prints: '{"keyId","key","name","scopes"}',
  examples: [
    "key create --account 019a85c2-5b00-7abc-8def-0123456789ab --name Shop --scope messages:send --scope messages:read --expires 90d",
  ],
  async run({ account, name, scope, expires }, context) {
    const { db } = await context.installation();
    const now = context.clock.now();
    const expiresAt = expires ? momentAfter(expires, now) : null;
    const wish = { accountId: account, name, scopes: scope, expiresAt, actor: ACTOR, now };
    const faults = judgeNewKey(wish);
    if (faults.length > 0) throw new WrongCall(faults.join("\n"));
    const created = await createKey(db, wish);
    switch (created.outcome) {
      case "account_unknown":
        return unknownAccount(account);
      case "limit_reached":
        throw new CommandFailure(
          `The account has ${MAX_ACTIVE_KEYS} active keys, which is the limit. Revoke one with: npx posthorn key revoke ID`,
        );
      case "created": {
        const { keyId, key } = created;
        const json = { keyId, key, name, scopes: [...new Set(scope)] };
        context.terminal.say("Save the key now: it is shown only once.");
        if (expiresAt) context.terminal.say(`It expires at ${expiresAt.toISOString()}.`);
        return { json, text: facts(json) };
      }
    }
  },
});

const list = command({
  name: "key list",
  summary: "Lists an account's API keys, newest first, masked.",
  options: { account: accountOption },
  prints:
    '{"data":[{"keyId","key","name","scopes","createdAt","createdBy","lastUsedAt","expiresAt","revokedAt"}]}',
  examples: ["key list --account 019a85c2-5b00-7abc-8def-0123456789ab"],
  async run({ account }, context) {
    const { db } = await context.installation();
    await requireAccount(db, account);
    const now = context.clock.now();
    const data = (await listKeys(db, account)).map((row) => ({
      keyId: row.key_id,
      key: maskKey(row.prefix),
      name: row.name,
      scopes: row.scopes,
      createdAt: row.created_at.toISOString(),
      createdBy: row.created_by,
      lastUsedAt: row.last_used_at?.toISOString() ?? null,
      expiresAt: row.expires_at?.toISOString() ?? null,
      revokedAt: row.revoked_at?.toISOString() ?? null,
    }));
    const lines = data.map((key) => [
      key.keyId,
      key.key,
      key.name,
      key.scopes,
      key.lastUsedAt,
      stateOf(key, now),
    ]);
    return {
      json: { data },
      text: table(["ID", "KEY", "NAME", "SCOPES", "LAST USED", "STATE"], lines),
    };
  },
});

function stateOf(
  { revokedAt, expiresAt }: { revokedAt: string | null; expiresAt: string | null },
  now: Date,
): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return "active";
  return new Date(expiresAt) <= now ? `expired ${expiresAt}` : `active until ${expiresAt}`;
}

const revoke = command({
  name: "key revoke",
  summary: "Revokes an API key; every node refuses it as soon as the command returns.",
  arguments: { key: required("ID", id, "The key's id; key list shows it.") },
  prints: '{"keyId","name","revokedAt"}',
  examples: ["key revoke 019a85c2-5b00-7abc-8def-0123456789ab"],
  async run({ key: keyId }, context) {
    const { db } = await context.installation();
    const revocation = await revokeKey(db, { keyId, actor: ACTOR, now: context.clock.now() });
    if (revocation.outcome === "unknown") {
      throw new CommandFailure(
        `There is no key ${keyId}. List an account's keys with: npx posthorn key list --account ID`,
      );
    }
    const { name, revoked_at: revokedAt } = revocation.key;
    const json = { keyId, name, revokedAt: revokedAt?.toISOString() ?? null };
    return { json, text: facts(json) };
  },
});

export const keyCommands = [create, list, revoke];
