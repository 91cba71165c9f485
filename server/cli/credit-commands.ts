import { lineFaults } from "#accounts";
import { bookCredits, browseLedger, ledgerEntry } from "#credits";
import { DatabaseUnavailable, newId } from "#platform";
import { accountOption, requireAccount, unknownAccount } from "./accounts.ts";
import { ACTOR, command, CommandFailure } from "./command.ts";
import { optional, required, withFallback } from "./input.ts";
import { wholeNumber } from "./input-values.ts";
import { facts, table } from "./table.ts";

const add = command({
  name: "credits add",
  summary: "Adds credits to an account, or takes some away with a negative amount.",
  options: {
    account: accountOption,
    amount: required("N", amount, "Whole credits; a negative number is booked as an adjustment."),
    note: required("TEXT", line, "The reason; it is recorded in the ledger and the audit log."),
    reference: optional(
      "TEXT",
      line,
      "A name for this booking; repeating the command with it books only once.",
    ),
  },
  prints: '{"balance"}',
  examples: [
    'credits add --account 019a85c2-5b00-7abc-8def-0123456789ab --amount 500 --note "Invoice 17"',
  ],
  async run({ account, amount, note, reference: given }, context) {
    const { db } = await context.installation();
    const kind = amount < 0 ? "adjustment" : "topup";
    const now = context.clock.now();
    const reference = given ?? newId(now.getTime());
    const by = { actor: ACTOR, now, reference } as const;
    const book = () => bookCredits(db, { accountId: account, kind, amount, note, ...by });
    let isSecondTry = false;
    const booked = await book().catch((error: unknown) => {
      if (!isDoubtful(error)) throw error;
      isSecondTry = true;
      return book().catch(() => {
        throw new CommandFailure(
          `The connection to the database was lost before it answered: ${error.message}. The credits may have been booked. Repeat the command with --reference ${reference} to book them only once.`,
        );
      });
    });
    switch (booked.outcome) {
      case "account_unknown":
        return unknownAccount(account);
      case "below_zero":
        throw new CommandFailure(
          `The account has ${booked.balance} credits; ${-amount} cannot be taken from it. Take at most ${booked.balance}.`,
        );
      case "reference_reused":
        throw new CommandFailure(
          `${reference} was already booked with another amount; nothing was changed. Use another --reference.`,
        );
      case "repeated":
      case "booked": {
        if (booked.outcome === "repeated" && !isSecondTry)
          context.terminal.say(`${reference} was already booked; nothing was changed.`);
        const { balance } = booked;
        return { json: { balance }, text: facts({ balance }) };
      }
    }
  },
});

function line(value: string): string {
  const [fault] = lineFaults(value);
  if (fault !== undefined) throw new Error(fault);
  return value;
}

/** Whether the booking may have been committed although the answer was lost. */
function isDoubtful(error: unknown): error is DatabaseUnavailable {
  return error instanceof DatabaseUnavailable && error.unknownBackend !== undefined;
}

/** Far more than anyone sells, and far below where sums stop being exact. */
const MAX_AMOUNT = 1_000_000_000_000;

function amount(value: string): number {
  const number = /^[+-]?\d+$/.test(value.trim()) ? Number(value) : 0;
  if (number === 0 || Math.abs(number) > MAX_AMOUNT) {
    throw new Error(`must be a whole number other than 0, at most ${MAX_AMOUNT}, not "${value}".`);
  }
  return number;
}

const show = command({
  name: "credits show",
  summary: "Shows an account's balance.",
  options: { account: accountOption },
  prints: '{"balance"}',
  examples: ["credits show --account 019a85c2-5b00-7abc-8def-0123456789ab"],
  async run({ account }, context) {
    const { db } = await context.installation();
    const { balance } = await requireAccount(db, account);
    return { json: { balance }, text: facts({ balance }) };
  },
});

const list = command({
  name: "credits list",
  summary: "Lists an account's ledger, newest first: every charge, refund and booking.",
  options: {
    account: accountOption,
    limit: withFallback("N", wholeNumber(1, 10_000), {
      meaning: "Most entries to show.",
      fallback: "25",
    }),
  },
  prints: '{"data":[{"seq","at","kind","amount","balanceAfter","messageId","note","actor"}]}',
  examples: ["credits list --account 019a85c2-5b00-7abc-8def-0123456789ab"],
  async run({ account, limit }, context) {
    const { db } = await context.installation();
    await requireAccount(db, account);
    const filter = { kinds: null, messageId: null, month: null };
    const { rows } = await browseLedger(db, { accountId: account, filter, position: null, limit });
    const data = rows.slice(0, limit).map(ledgerEntry);
    const lines = data.map((row) => [
      row.at,
      row.kind,
      row.amount,
      row.balanceAfter,
      row.messageId ?? row.note,
      row.actor,
    ]);
    const columns = ["TIME", "KIND", "AMOUNT", "BALANCE", "MESSAGE OR NOTE", "ACTOR"];
    return { json: { data }, text: table(columns, lines) };
  },
});

export const creditCommands = [add, show, list];
