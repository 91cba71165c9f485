import { NIL_ID, type Queryable, sql } from "#platform";

/** Stands in place of an account for what concerns the operator. */
export const OPERATOR = NIL_ID;

export type Change = {
  account_id: string;
  kind: string;
  ids: string[];
  versions: number[];
  is_charged: boolean;
};

/**
 * What this snapshot sees and the previous one did not, so a long transaction delays nobody. All
 * changes by transactions below `until` have been seen; none of those can add more.
 */
export type Look = { changes: Change[]; snapshot: string; until: string; atMs: number };

/** A watch lapses by itself when its node dies. */
const WATCH_SECONDS = 30;
/** How long changes are kept after they were seen: for streams that resume, and nodes that hang. */
export const KEPT_MS = 60_000;
/** A stream that resumes within this time finds all it missed still kept. */
export const RESUMABLE_MS = 45_000;

/**
 * Starts or renews the watch of accounts. Returns, per account, since when nothing was missed, and
 * a transaction: any later one that accepts or moves messages sees that somebody watches.
 */
export async function watchAccounts(
  db: Queryable,
  accountIds: readonly string[],
): Promise<{ since: Map<string, number>; from: string }> {
  const rows = await db.query<{ account_id: string; since: Date }>(sql`
    insert into watched_accounts as w (account_id, since, until)
    select account_id, clock_timestamp(), clock_timestamp() + make_interval(secs => ${WATCH_SECONDS})
      from unnest(${[...new Set(accountIds)].toSorted()}::uuid[]) as account_id
        on conflict (account_id) do update
       set since = case when w.until < clock_timestamp() then clock_timestamp() else w.since end,
           until = excluded.until
    returning w.account_id, w.since`);
  // A number from after the commit: the statement's own is older than some that do not see it.
  const [begun] = await db.query<{ xid: string }>(sql`select pg_current_xact_id()::text as xid`);
  return {
    since: new Map(rows.map(({ account_id, since }) => [account_id, since.getTime()])),
    from: begun?.xid ?? "0",
  };
}

/** What changed, in any watched account, since the look with the snapshot `seen`. */
export async function lookAtChanges(db: Queryable, seen: string | null): Promise<Look> {
  const rows = await db.query<Partial<Change> & Omit<Look, "changes" | "atMs"> & { at: Date }>(sql`
    with here as (
      select pg_current_snapshot() as snapshot, clock_timestamp() as at
    )
    select h.snapshot::text as snapshot, pg_snapshot_xmin(h.snapshot)::text as until, h.at, c.account_id,
           c.kind, c.ids, c.versions, c.is_charged
      from here h
      left join watched_changes c
        on c.xid >= pg_snapshot_xmin(${seen}::pg_snapshot)
       and not pg_visible_in_snapshot(c.xid, ${seen}::pg_snapshot)`);
  const [first] = rows;
  if (!first) throw new Error("A look at changes found nothing at all.");
  const changes = rows.filter((row): row is Change & typeof row => row.account_id !== null);
  return { changes, snapshot: first.snapshot, until: first.until, atMs: first.at.getTime() };
}

/** Changes of one account since the look that ended at `from`, for a stream that resumes. */
export function findChanges(
  db: Queryable,
  { accountId, from }: { accountId: string; from: string },
): Promise<Change[]> {
  return db.query<Change>(sql`
    select account_id, kind, ids, versions, is_charged
      from watched_changes
     where xid >= ${from}::text::xid8 and account_id = ${accountId}
     order by at`);
}

/** Deletes changes seen `KEPT_MS` ago. A long transaction's changes are old when first seen. */
export async function forgetChanges(db: Queryable, seen: string): Promise<void> {
  await db.query(sql`
    delete from watched_changes
     where at < clock_timestamp() - make_interval(secs => ${KEPT_MS / 1000})
       and pg_visible_in_snapshot(xid, ${seen}::pg_snapshot)`);
}
