import { type Queryable, sql } from "#platform";

export type QueueDepth = {
  account_id: string;
  carrier_id: string;
  /** Due now, those in a carrier's hands included. */
  waiting: number;
  /** Due later. */
  scheduled: number;
  oldest_due_at: Date | null;
};

/** What waits to be sent, by account and carrier. The queue holds nothing else, so it is counted. */
export function measureQueue(db: Queryable): Promise<QueueDepth[]> {
  return db.query<QueueDepth>(sql`
    select account_id, carrier_id,
           count(*) filter (where due_at <= clock_timestamp() or leased_by is not null) as waiting,
           count(*) filter (where due_at > clock_timestamp() and leased_by is null) as scheduled,
           min(due_at) filter (where due_at <= clock_timestamp()) as oldest_due_at
      from send_queue
     group by account_id, carrier_id`);
}

export type CarrierQueue = {
  carrier_id: string;
  /** Nobody has taken them up yet, though they are due. */
  due: number;
  /** In the hands of a node. */
  held: number;
  /** Due later. */
  scheduled: number;
  /** Of those due. */
  oldest_due_at: Date | null;
};

/** Counting stops here, so that looking costs the same behind any backlog. */
const MAX_COUNTED = 100_000;
const MAX_ACCOUNTS = 10_000;

/** What waits for each carrier, at a bounded cost: for those who look all the time. */
export function measureCarrierQueues(db: Queryable): Promise<CarrierQueue[]> {
  return db.query<CarrierQueue>(sql`
    with recursive waited_for as (
      (select q.carrier_id from send_queue q order by q.carrier_id limit 1)
      union all
      select next.carrier_id
        from waited_for c
       cross join lateral (
         select q.carrier_id from send_queue q where q.carrier_id > c.carrier_id order by q.carrier_id limit 1
       ) next
    )
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
