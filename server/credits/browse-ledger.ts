import {
  allOf,
  type Looked,
  lookThrough,
  type Page,
  type Queryable,
  type Sql,
  sql,
} from "#platform";
import type { LedgerRow } from "./credits.ts";

export type LedgerFilter = {
  kinds: readonly LedgerRow["kind"][] | null;
  messageId: string | null;
  /** The first moment of the month and of the next one. */
  month: { from: Date; to: Date } | null;
};

const columns = sql`
  l.seq, l.message_id, l.kind, l.amount, l.balance_after, l.actor, l.note, l.created_at`;

/** A page of ledger entries before or after a position. Its cost does not grow with the ledger. */
export function browseLedger(
  db: Queryable,
  { accountId, filter, ...page }: Page<number> & { accountId: string; filter: LedgerFilter },
): Promise<Looked<LedgerRow, number>> {
  return lookThrough(db, {
    ...page,
    columns,
    from: sql`from ledger l`,
    row: sql`l`,
    id: sql`l.seq`,
    window: windowOf(accountId, filter),
    sieve: filter.kinds && sql`l.kind = any (${filter.kinds}::text[])`,
  });
}

function windowOf(accountId: string, { kinds, messageId, month }: LedgerFilter): Sql {
  const isByPeople = kinds?.every((kind) => kind === "topup" || kind === "adjustment") ?? false;
  return allOf([
    sql`l.account_id = ${accountId}`,
    messageId === null ? null : sql`l.message_id = ${messageId}`,
    // Worded this way, so that the planner can use the index of what people booked.
    isByPeople ? sql`l.kind in ('topup', 'adjustment')` : null,
    month && inMonth(accountId, month),
  ]);
}

function inMonth(accountId: string, { from, to }: { from: Date; to: Date }): Sql {
  return sql`
    l.seq >= (select ledger_seq_at(${accountId}, ${from}))
    and l.seq < (select ledger_seq_at(${accountId}, ${to}))`;
}

/** The ledger of a month, oldest first, in pages. */
export async function* ledgerOfMonth(
  db: Queryable,
  { accountId, month }: { accountId: string; month: { from: Date; to: Date } },
): AsyncGenerator<LedgerRow[]> {
  let after = 0;
  for (;;) {
    const rows = await db.query<LedgerRow>(sql`
      select ${columns}
        from ledger l
       where l.account_id = ${accountId} and l.seq > ${after} and ${inMonth(accountId, month)}
       order by l.seq
       limit 1000`);
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)?.seq ?? after;
  }
}
