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
