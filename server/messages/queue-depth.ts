import { MAX_COUNTED, NIL_ID, type Queryable, sql } from "#platform";

const MAX_ACCOUNTS = 10_000;

export type QueueDepth = {
  account_id: string;
  carrier_id: string;
  /** Due now, including those that a carrier has in hand. */
  waiting: number;
  /** Due later. */
  scheduled: number;
  /** Counting stopped early: there are more than the two numbers say. */
  is_more: boolean;
  oldest_due_at: Date | null;
};

type Line = Pick<QueueDepth, "account_id" | "carrier_id">;

/**
 * What waits to be sent, by account and carrier. All lines are first counted up to the same length;
 * what short lines leave of the budget goes to long ones. So one account's backlog neither makes
 * this query expensive nor hides the others.
 */
export async function measureQueue(
  db: Queryable,
  maxCounted: number = MAX_COUNTED,
): Promise<QueueDepth[]> {
  const lines = await listLines(db);
  if (lines.length === 0) return [];
  const share = Math.max(1, Math.floor(maxCounted / lines.length));
  const depths = await measureLines(db, lines, share);
  const long = depths.filter(({ is_more }) => is_more);
  const counted = depths.reduce((sum, { waiting, scheduled }) => sum + waiting + scheduled, 0);
  const more = Math.floor((maxCounted - counted) / long.length);
  if (long.length === 0 || more < 1) return depths;
  const short = depths.filter(({ is_more }) => !is_more);
  return [...short, ...(await measureLines(db, long, share + more))];
}

/** Any carrier. Needed as a condition: `send_queue_in_turn` serves only queries with one. */
const ofAny = sql`q.carrier_id >= ${NIL_ID}`;

/** Jumps from one line to the next in the index, however many messages lie between. */
function listLines(db: Queryable): Promise<Line[]> {
  return db.query<Line>(sql`
    with recursive line as (
      (select q.carrier_id, q.account_id, 1 as n
         from send_queue q
        where ${ofAny}
        order by q.carrier_id, q.account_id
        limit 1)
      union all
      select next.carrier_id, next.account_id, l.n + 1
        from line l
       cross join lateral (
         select q.carrier_id, q.account_id
           from send_queue q
          where ${ofAny} and (q.carrier_id, q.account_id) > (l.carrier_id, l.account_id)
          order by q.carrier_id, q.account_id
          limit 1
       ) next
       where l.n < ${MAX_ACCOUNTS}
    )
    select carrier_id, account_id from line`);
}

/** Counts the first messages of each line: those due come before those scheduled. */
function measureLines(db: Queryable, lines: readonly Line[], limit: number): Promise<QueueDepth[]> {
  const line = sql`s.carrier_id = l.carrier_id and s.account_id = l.account_id`;
  return db.query<QueueDepth>(sql`
    select l.account_id, l.carrier_id, d.waiting, d.scheduled, d.oldest_due_at,
           exists (select from send_queue s where ${line} order by s.due_at offset ${limit}) as is_more
      from unnest(${lines.map(({ account_id }) => account_id)}::uuid[],
                  ${lines.map(({ carrier_id }) => carrier_id)}::uuid[]) as l (account_id, carrier_id)
     cross join lateral (
       select count(*) filter (where q.due_at <= statement_timestamp() or q.leased_by is not null) as waiting,
              count(*) filter (where q.due_at > statement_timestamp() and q.leased_by is null) as scheduled,
              min(q.due_at) filter (where q.due_at <= statement_timestamp()) as oldest_due_at
         from (select s.due_at, s.leased_by from send_queue s where ${line} order by s.due_at limit ${limit}) q
     ) d
     where d.waiting + d.scheduled > 0`);
}

/** Jumps from one carrier to the next in the index, as `listLines` does for lines. */
const waitedFor = sql`
  waited_for as (
    (select q.carrier_id from send_queue q where ${ofAny} order by q.carrier_id limit 1)
    union all
    select next.carrier_id
      from waited_for c
     cross join lateral (
       select q.carrier_id from send_queue q where q.carrier_id > c.carrier_id order by q.carrier_id limit 1
     ) next
  )`;

/** The carriers that any message waits for, including removed ones. */
export async function carriersWaitedFor(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ carrier_id: string }>(sql`
    with recursive ${waitedFor}
    select carrier_id from waited_for`);
  return rows.map(({ carrier_id }) => carrier_id);
}

export type CarrierQueue = {
  carrier_id: string;
  /** Due, but not claimed by any node yet. */
  due: number;
  /** Leased by a node. */
  held: number;
  /** Due later. */
  scheduled: number;
  /** Of the due messages. */
  oldest_due_at: Date | null;
};

/** What waits for each carrier, at a bounded cost, so that it can be polled. */
export function measureCarrierQueues(db: Queryable): Promise<CarrierQueue[]> {
  return db.query<CarrierQueue>(sql`
    with recursive ${waitedFor}
    select c.carrier_id, d.due, d.held, d.scheduled, o.oldest_due_at
      from waited_for c
     cross join lateral (
       select count(*) filter (where q.due_at <= clock_timestamp()) as due,
              count(*) filter (where q.due_at > clock_timestamp() and q.leased_by is not null) as held,
              count(*) filter (where q.due_at > clock_timestamp() and q.leased_by is null) as scheduled
         from (select s.due_at, s.leased_by from send_queue s where s.carrier_id = c.carrier_id limit ${MAX_COUNTED}) q
     ) d
     cross join lateral (
       with recursive oldest as (
         (select q.account_id, q.due_at, 1 as n
            from send_queue q
           where q.carrier_id = c.carrier_id
           order by q.account_id, q.due_at
           limit 1)
         union all
         select next.account_id, next.due_at, o.n + 1
           from oldest o
          cross join lateral (
            select q.account_id, q.due_at
              from send_queue q
             where q.carrier_id = c.carrier_id and q.account_id > o.account_id
             order by q.account_id, q.due_at
             limit 1
          ) next
          where o.n < ${MAX_ACCOUNTS}
       )
       select min(o.due_at) filter (where o.due_at <= clock_timestamp()) as oldest_due_at from oldest o
     ) o`);
}
