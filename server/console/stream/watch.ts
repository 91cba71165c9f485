import { NIL_ID, type Queryable, sql } from "#platform";

/** Stands for what concerns the operator, in the place of an account. */
export const OPERATOR = NIL_ID;

export type Change = {
  account_id: string;
  kind: string;
  ids: string[];
  versions: number[];
  is_charged: boolean;
};

/** Everything that transactions below `until` changed, and nothing they did can come later. */
export type Look = { changes: Change[]; until: string; atMs: number };

/** A watch lapses by itself when its node dies. */
const WATCH_SECONDS = 30;
/** How long changes are kept for those who come back. */
const KEPT_SECONDS = 60;
/** Who comes back within this time has missed nothing that is not kept. */
export const RESUMABLE_MS = 45_000;

/**
 * Begins or goes on watching accounts. Answers since when nothing was missed, by account, and a
 * transaction: who accepts or moves messages in a later one sees that somebody watches.
 */
export async function watchAccounts(
  db: Queryable,
  accountIds: readonly string[],
): Promise<{ since: Map<string, number>; from: string }> {
  const rows = await db.query<{ account_id: string; since: Date; xid: string }>(sql`
    insert into watched_accounts as w (account_id, since, until)
    select account_id, clock_timestamp(), clock_timestamp() + make_interval(secs => ${WATCH_SECONDS})
      from unnest(${[...new Set(accountIds)].toSorted()}::uuid[]) as account_id
        on conflict (account_id) do update
       set since = case when w.until < clock_timestamp() then clock_timestamp() else w.since end,
           until = excluded.until
    returning w.account_id, w.since, pg_current_xact_id()::text as xid`);
  return {
    since: new Map(rows.map(({ account_id, since }) => [account_id, since.getTime()])),
    from: rows[0]?.xid ?? "0",
  };
}

/** What changed since the look that ended at `from`, in any account that is watched. */
export async function lookAtChanges(db: Queryable, from: string): Promise<Look> {
  const rows = await db.query<Partial<Change> & { until: string; at: Date }>(sql`
    with here as (
      select pg_snapshot_xmin(pg_current_snapshot()) as until, clock_timestamp() as at
    )
    select h.until::text as until, h.at, c.account_id, c.kind, c.ids, c.versions, c.is_charged
      from here h
      left join watched_changes c on c.xid >= ${from}::text::xid8 and c.xid < h.until`);
  const [first] = rows;
  if (!first) throw new Error("A look at changes found nothing at all.");
  const changes = rows.filter((row): row is Change & typeof row => row.account_id !== null);
  return { changes, until: first.until, atMs: first.at.getTime() };
}

/** Of one account, between two looks: for a stream that comes back. */
export function findChanges(
  db: Queryable,
  { accountId, from, until }: { accountId: string; from: string; until: string },
): Promise<Change[]> {
  return db.query<Change>(sql`
    select account_id, kind, ids, versions, is_charged
      from watched_changes
     where xid >= ${from}::text::xid8 and xid < ${until}::text::xid8 and account_id = ${accountId}
     order by at`);
}

export async function forgetChanges(db: Queryable): Promise<void> {
  await db.query(sql`
    delete from watched_changes where at < clock_timestamp() - make_interval(secs => ${KEPT_SECONDS})`);
}
