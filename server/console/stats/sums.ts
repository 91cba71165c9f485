import type { DeliveryErrorCode } from "#contract";
import {
  type Clock,
  type Database,
  deletePage,
  type Loop,
  type Queryable,
  type Sql,
  sql,
} from "#platform";
import type { Span } from "./span.ts";

const NONE = {
  queued: 0,
  sent: 0,
  delivered: 0,
  undelivered: 0,
  failed: 0,
  charged: 0,
  refunded: 0,
  webhooks_delivered: 0,
  webhooks_exhausted: 0,
  webhooks_failed: 0,
};

export type Sums = typeof NONE;

/** One entry per bucket of the span, in order. */
export async function readSums(db: Queryable, accountId: string, span: Span): Promise<Sums[]> {
  const rows = await db.query<Sums & { n: number }>(sql`
    select width_bucket(s.start, ${span.starts}::timestamptz[]) as n,
           sum(s.queued) as queued, sum(s.sent) as sent, sum(s.delivered) as delivered,
           sum(s.undelivered) as undelivered, sum(s.failed) as failed, sum(s.charged) as charged,
           sum(s.refunded) as refunded, sum(s.webhooks_delivered) as webhooks_delivered,
           sum(s.webhooks_exhausted) as webhooks_exhausted, sum(s.webhooks_failed) as webhooks_failed
      from (${foldedAndNot(accountId, span.width, span.from)}) s
     where s.start < ${span.to}
     group by n`);
  const byBucket = new Map(rows.map(({ n, ...sums }) => [n, sums]));
  return span.starts.map((_start, position) => byBucket.get(position + 1) ?? NONE);
}

/** One statement, so that a row being folded at that moment is neither counted twice nor missed. */
function foldedAndNot(accountId: string, width: number, from: Date): Sql {
  const step = (condition: Sql) => sql`case when ${condition} then u.count else 0 end`;
  return sql`
    select s.start, s.queued, s.sent, s.delivered, s.undelivered, s.failed, s.charged, s.refunded,
           s.webhooks_delivered, s.webhooks_exhausted, s.webhooks_failed
      from stat_spans s
     where s.account_id = ${accountId} and s.width = ${width} and s.start >= ${from}
    union all
    select u.start,
           ${step(sql`u.now_is = 'QUEUED'`)} - ${step(sql`u.was = 'QUEUED'`)},
           ${step(sql`u.now_is = 'SENT'`)} - ${step(sql`u.was = 'SENT'`)},
           ${step(sql`u.now_is = 'DELIVERED'`)}, ${step(sql`u.now_is = 'UNDELIVERED'`)},
           ${step(sql`u.now_is = 'FAILED'`)},
           case when u.now_is = 'QUEUED' then u.credits else 0 end,
           case when u.now_is = 'FAILED' then u.credits else 0 end,
           ${step(sql`u.now_is = 'webhook_delivered'`)}, ${step(sql`u.now_is = 'webhook_exhausted'`)},
           ${step(sql`u.now_is = 'webhook_failed'`)}
      from unfolded_stats(${accountId}, ${width}) u
     where u.start >= ${from}`;
}

export type Latencies = { n: number; class: number; count: number };

/**
 * Latency classes of deliveries per bucket; `n` is the bucket's number, from 1. Each bucket is
 * summed by itself: a month has a hundred thousand of these rows, and assigning them to buckets one
 * by one would cost as much again as reading them.
 */
export function readLatencies(db: Queryable, accountId: string, span: Span): Promise<Latencies[]> {
  const { starts, to, width } = span;
  const ends = [...starts.slice(1), to];
  return db.query<Latencies>(sql`
    select s.n, s.class, sum(s.count) as count
      from (
        select b.n, f.class, f.count
          from unnest(${starts}::timestamptz[], ${ends}::timestamptz[]) with ordinality as b (start, until, n)
         cross join lateral (
           select l.class, sum(l.count) as count
             from stat_latencies l
            where l.account_id = ${accountId} and l.width = ${width} and l.start >= b.start and l.start < b.until
            group by l.class
         ) f
        union all
        select width_bucket(l.start, ${starts}::timestamptz[]), l.latency, l.count
          from unfolded_stats(${accountId}, ${width}) l
         where l.latency is not null and l.start >= ${span.from} and l.start < ${to}
      ) s
     group by s.n, s.class`);
}

export function readErrors(
  db: Queryable,
  accountId: string,
  { width, from, to }: Span,
): Promise<{ code: DeliveryErrorCode; count: number }[]> {
  return db.query(sql`
    select s.code, sum(s.count) as count
      from (
        select l.code, l.count
          from stat_errors l
         where l.account_id = ${accountId} and l.width = ${width} and l.start >= ${from} and l.start < ${to}
        union all
        select l.error, l.count
          from unfolded_stats(${accountId}, ${width}) l
         where l.error is not null and l.start >= ${from} and l.start < ${to}
      ) s
     group by s.code
     order by count desc, s.code`);
}

export type Use = { used: number; exhausted: number };

/** Credits charged and not refunded since a moment, and webhooks exhausted since then. */
export async function readUse(db: Queryable, accountId: string, since: Date): Promise<Use> {
  const [use] = await db.query<Use>(sql`
    select coalesce(sum(s.charged - s.refunded), 0) as used, coalesce(sum(s.webhooks_exhausted), 0) as exhausted
      from (${foldedAndNot(accountId, 15, since)}) s`);
  return use ?? { used: 0, exhausted: 0 };
}

/** Whether the account ever had a delivered message, and a delivered webhook. */
export async function readFirsts(
  db: Queryable,
  accountId: string,
): Promise<{ message: boolean; webhook: boolean }> {
  const everything = foldedAndNot(accountId, 15, new Date(0));
  const [firsts] = await db.query<{ message: boolean; webhook: boolean }>(sql`
    select exists (select from (${everything}) s where s.delivered > 0) as message,
           exists (select from (${everything}) s where s.webhooks_delivered > 0) as webhook`);
  return firsts ?? { message: false, webhook: false };
}

const FOLD_AT_ONCE = 5_000;
const MINUTES_KEPT_HOURS = 48;

/** Every node runs these, whatever its roles: accepting and sending both note changes to fold. */
export function statisticsLoops({ db, clock }: { db: Database; clock: Clock }): Loop[] {
  return [foldLoop(db), forgetMinutesLoop(db, clock)];
}

/** Folds what batches noted into the sums, soon enough that people see numbers move. */
function foldLoop(db: Database): Loop {
  return {
    name: "fold statistics",
    idleMs: 1_000,
    async pass() {
      const [done] = await db.query<{ folded: number }>(
        sql`select fold_stats(${FOLD_AT_ONCE}) as folded`,
      );
      const folded = done?.folded ?? 0;
      // Less than a full pass can wait: reads include rows not yet folded, and those are few.
      return folded < FOLD_AT_ONCE ? 0 : folded;
    },
  };
}

/** Forgets the sums per minute, a page of each table at a time. */
function forgetMinutesLoop(db: Database, clock: Clock): Loop {
  return {
    name: "forget statistics of minutes",
    idleMs: 300_000,
    async pass() {
      const before = new Date(clock.now().getTime() - MINUTES_KEPT_HOURS * 3_600_000);
      const isOld = sql`width = 1 and start < ${before}`;
      const gone = await Promise.all([
        deletePage(db, sql`from stat_spans`, isOld),
        deletePage(db, sql`from stat_errors`, isOld),
        deletePage(db, sql`from stat_latencies`, isOld),
      ]);
      return gone.reduce((sum, each) => sum + each, 0);
    },
  };
}
