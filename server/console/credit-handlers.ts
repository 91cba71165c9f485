import { findAccount } from "#accounts";
import type { LedgerEntry } from "#contract";
import {
  browseLedger,
  ledgerEntry,
  type LedgerFilter,
  ledgerOfMonth,
  type LedgerRow,
} from "#credits";
import type { Pager } from "#http";
import { chosen, type Clock, type Database, DAY_MS, type Queryable } from "#platform";
import { findActors } from "./actors.ts";
import type { ConsoleHandlers, CsvAnswer } from "./console-call.ts";
import { type Columns, csvOf } from "./csv.ts";
import { readUse } from "./stats/sums.ts";

type Deps = { db: Database; clock: Clock; pager: Pager };

/** The rate of use is the mean over this many days. */
const USE_DAYS = 7;

/** The balance, how long it lasts, and the ledger. */
export function creditHandlers({ db, clock, pager }: Deps) {
  return {
    async readCredits({ account: { accountId }, problem }) {
      const account = await findAccount(db, accountId);
      if (!account) throw problem("ACCOUNT_NOT_FOUND");
      const { balance, low_credits: lowCredits } = account;
      return { balance, lowCredits, ...(await readRate(db, account, clock.now())) };
    },

    async listLedger({ account: { accountId }, query }) {
      const { messageId = null, month } = query;
      const kinds = chosen(query.kind);
      const filter: LedgerFilter = {
        kinds,
        messageId,
        month: month === undefined ? null : monthOf(month),
      };
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["ledger", accountId, kinds, messageId, month ?? null],
        async browse({ limit, position: at }) {
          const position = at && { ...at, id: seqOf(at.id) };
          const looked = await browseLedger(db, { accountId, filter, position, limit });
          const edge = looked.lookedUntil;
          return { rows: looked.rows, lookedUntil: edge === null ? null : idOf(edge) };
        },
        idOf: ({ seq }) => idOf(seq),
      });
      return { data: await presentEntries(db, rows), ...cursors };
    },

    exportLedger({ account: { accountId }, query: { month } }): Promise<CsvAnswer> {
      const pages = ledgerOfMonth(db, { accountId, month: monthOf(month) });
      const lines = csvOf({ columns: csvColumns, pages, show: (rows) => presentEntries(db, rows) });
      return Promise.resolve({ fileName: `ledger-${month}.csv`, lines });
    },
  } satisfies Partial<ConsoleHandlers>;
}

/** Mean use of the last days, or of the account's life if that is shorter. */
export async function readRate(
  db: Queryable,
  { account_id, balance, created_at }: { account_id: string; balance: number; created_at: Date },
  now: Date,
): Promise<{ usedPerDay: number; daysLeft: number | null }> {
  const since = new Date(now.getTime() - USE_DAYS * DAY_MS);
  const { used } = await readUse(db, account_id, since);
  const days = Math.min(USE_DAYS, Math.max(1, (now.getTime() - created_at.getTime()) / DAY_MS));
  const usedPerDay = Math.max(0, Math.round((used / days) * 100) / 100);
  return { usedPerDay, daysLeft: usedPerDay > 0 ? Math.floor(balance / usedPerDay) : null };
}

function monthOf(month: string): { from: Date; to: Date } {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return { from: new Date(Date.UTC(year, number - 1)), to: new Date(Date.UTC(year, number)) };
}

/** Entries have numbers but cursors hold ids: the number goes into the last digits of an id. */
function idOf(seq: number): string {
  return `00000000-0000-0000-0000-${seq.toString(16).padStart(12, "0")}`;
}

function seqOf(id: string): number {
  return Number.parseInt(id.slice(-12), 16);
}

async function presentEntries(db: Queryable, rows: LedgerRow[]): Promise<LedgerEntry[]> {
  const actors = await findActors(
    db,
    rows.map(({ actor }) => actor),
  );
  return rows.map((row) => ({
    ...ledgerEntry(row),
    actor: row.actor === null ? null : actors(row.actor),
  }));
}

const csvColumns: Columns<LedgerEntry> = {
  seq: ({ seq }) => seq,
  at: ({ at }) => at,
  kind: ({ kind }) => kind,
  amount: ({ amount }) => amount,
  balanceAfter: ({ balanceAfter }) => balanceAfter,
  messageId: ({ messageId }) => messageId,
  note: ({ note }) => note,
  actor: ({ actor }) => actor?.name ?? null,
};
