import { accountOf, hostKey } from "#messages";
import { type Queryable, sql } from "#platform";

/** Deliveries of an account that wait for their first attempt, and for another after a failure. */
export async function countWaiting(
  db: Queryable,
  accountId: string,
): Promise<{ waiting: number; retrying: number }> {
  // The lanes of an account lie side by side: they begin with the same 48 bits.
  const first = accountOf(hostKey(accountId, "")) << 16n;
  const [counts] = await db.query<{ waiting: number; retrying: number }>(sql`
    select count(*) filter (where attempts = 0) as waiting, count(*) filter (where attempts > 0) as retrying
      from webhook_deliveries
     where host_key between ${first.toString()}::bigint and ${(first + 0xffffn).toString()}::bigint
       and account_id = ${accountId}`);
  return counts ?? { waiting: 0, retrying: 0 };
}

/** Deliveries of all accounts, and when the oldest of those due now was due. */
export async function measureBacklog(
  db: Queryable,
): Promise<{ waiting: number; oldestDueAt: Date | null }> {
  const [backlog] = await db.query<{ waiting: number; oldest: Date | null }>(sql`
    select count(*) as waiting, min(next_at) filter (where next_at <= clock_timestamp()) as oldest
      from webhook_deliveries`);
  return { waiting: backlog?.waiting ?? 0, oldestDueAt: backlog?.oldest ?? null };
}
