import { lanesOf } from "#messages";
import { MAX_COUNTED, type Queryable, sql } from "#platform";

/** Deliveries of an account that wait for their first attempt, and for another after a failure. */
export async function countWaiting(
  db: Queryable,
  accountId: string,
): Promise<{ waiting: number; retrying: number }> {
  const lanes = lanesOf(accountId);
  const [counts] = await db.query<{ waiting: number; retrying: number }>(sql`
    select count(*) filter (where attempts = 0) as waiting, count(*) filter (where attempts > 0) as retrying
      from (select attempts
              from webhook_deliveries
             where host_key between ${lanes.first.toString()}::bigint and ${lanes.last.toString()}::bigint
               and account_id = ${accountId}
             limit ${MAX_COUNTED}) w`);
  return counts ?? { waiting: 0, retrying: 0 };
}

export type Backlog = {
  waiting: number;
  /** Whether counting stopped and there are more. */
  isMore: boolean;
  /** The oldest of those counted that are due now. */
  oldestDueAt: Date | null;
};

/** Deliveries of all accounts. */
export async function measureBacklog(
  db: Queryable,
  maxCounted: number = MAX_COUNTED,
): Promise<Backlog> {
  const [backlog] = await db.query<Backlog>(sql`
    select least(count(*), ${maxCounted}) as waiting, count(*) > ${maxCounted} as "isMore",
           min(w.next_at) filter (where w.next_at <= clock_timestamp()) as "oldestDueAt"
      from (select d.next_at from webhook_deliveries d limit ${maxCounted + 1}) w`);
  return backlog ?? { waiting: 0, isMore: false, oldestDueAt: null };
}
