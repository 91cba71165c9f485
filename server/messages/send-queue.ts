import { type Database, LEASE_MS, NIL_ID, type Queryable, type Sql, sql } from "#platform";

/**
 * Extends this node's leases. Returns those that it still has, with their epochs: a node may have
 * lost a lease and claimed the message again, and the epoch tells the two apart. Locks by id, as
 * recording answers does. Here and below, comparisons are as in `accept_messages`.
 */
export async function renewLeases(
  db: Database,
  { nodeId, messageIds }: { nodeId: string; messageIds: string[] },
): Promise<Map<string, number>> {
  const rows = await db.query<{ message_id: string; lease_epoch: number }>(sql`
    update send_queue q
       set due_at = clock_timestamp() + make_interval(secs => ${LEASE_MS / 1000})
      from (select message_id
              from send_queue
             where message_id = any (${messageIds}::uuid[]) and leased_by = ${nodeId}
             order by message_id
               for no key update) held
     where q.message_id = any (array[held.message_id])
    returning q.message_id, q.lease_epoch`);
  return new Map(rows.map(({ message_id, lease_epoch }) => [message_id, lease_epoch]));
}

/** The carrier that each message waits for now. Routes may have changed since it was queued. */
export async function findQueuedFor(
  db: Queryable,
  messageIds: readonly string[],
): Promise<Map<string, string>> {
  if (messageIds.length === 0) return new Map();
  const rows = await db.query<{ message_id: string; carrier_id: string }>(sql`
    select message_id, carrier_id from send_queue where message_id = any (${messageIds}::uuid[])`);
  return new Map(rows.map(({ message_id, carrier_id }) => [message_id, carrier_id]));
}

export type Stranded = {
  message_id: string;
  account_id: string;
  lease_epoch: number;
  attempt: number;
  /** A node claimed it and was lost: its lease expired long ago. */
  is_lost: boolean;
  /** Text, because a Date would lose the microseconds, and with them the position. */
  due_at: string;
};

type StrandedRequest = {
  carrierId: string;
  /** The last one of the previous page. */
  after: Stranded | undefined;
  limit: number;
};

/** Counted from the lease's expiry: a working carrier would have claimed the message by then. */
const LOST_MS = 60_000;
const isLost = sql`(leased_by is not null and due_at <= statement_timestamp() - make_interval(secs => ${LOST_MS / 1000}))`;

/**
 * A page of a carrier's messages that wait and are due, or whose node was lost. Ordered by account,
 * as in the index, and then by due time, oldest first.
 */
export function findStranded(
  db: Database,
  { carrierId, after, limit }: StrandedRequest,
): Promise<Stranded[]> {
  const { account_id, due_at, message_id } = after ?? BEFORE_ALL_STRANDED;
  // statement_timestamp(), because an index cannot be searched with clock_timestamp().
  return db.query(sql`
    select message_id, account_id, lease_epoch, attempt, ${isLost} as is_lost, due_at::text
      from send_queue
     where carrier_id = ${carrierId} and (leased_by is null or ${isLost})
       and due_at <= statement_timestamp()
       and (account_id, due_at, message_id) > (${account_id}::uuid, ${due_at}::timestamptz, ${message_id}::uuid)
     order by account_id, send_queue.due_at, message_id
     limit ${limit}`);
}

const BEFORE_ALL_STRANDED = { account_id: NIL_ID, due_at: "-infinity", message_id: NIL_ID };

type Claim = {
  message_id: string;
  account_id: string;
  carrier_id: string;
  lease_epoch: number;
  attempt: number;
  was_leased: boolean;
};

type OverdueRequest = { nodeId: string; now: Date; limit: number };

/** Claims messages whose validity is over and that were claimed before, oldest first. */
export function leaseOverdue(
  db: Database,
  { nodeId, now, limit }: OverdueRequest,
): Promise<Claim[]> {
  return lease(
    db,
    nodeId,
    sql`
      select message_id, leased_by is not null as was_leased
        from send_queue
       where expires_at <= ${now} and lease_epoch > 0 and (leased_by is null or ${isLost})
       order by expires_at
       limit ${limit}
         for update skip locked`,
  );
}

/** Claims messages that `findStranded` found, except those that were claimed since. */
export function leaseStranded(db: Database, nodeId: string, found: Stranded[]): Promise<Claim[]> {
  return lease(
    db,
    nodeId,
    sql`
      select s.message_id, s.leased_by is not null as was_leased
        from send_queue s
        join unnest(${found.map(({ message_id }) => message_id)}::uuid[], ${found.map(({ lease_epoch }) => lease_epoch)}::integer[])
             as f (message_id, epoch) on s.message_id = any (array[f.message_id]) and s.lease_epoch = f.epoch
       where s.leased_by is null or ${isLost}
       order by f.message_id
         for update of s skip locked`,
  );
}

function lease(db: Database, nodeId: string, taken: Sql): Promise<Claim[]> {
  return db.query(sql`
    update send_queue q
       set leased_by = ${nodeId}, lease_epoch = q.lease_epoch + 1,
           attempt = least(q.attempt::integer + 1, 32767),
           due_at = statement_timestamp() + make_interval(secs => ${LEASE_MS / 1000})
      from (${taken}) t
     where q.message_id = any (array[t.message_id])
    returning q.message_id, q.account_id, q.carrier_id, q.lease_epoch, q.attempt, t.was_leased`);
}

type Reassignment = {
  messageId: string;
  /** The lease epoch when it was seen waiting. A claim raises it. */
  epoch: number;
  to: string;
};

/** Gives waiting messages to another carrier, except those that were claimed meanwhile. */
export async function reassign(db: Database, moves: Reassignment[]): Promise<void> {
  const each = <Value>(pick: (move: Reassignment) => Value) => moves.map(pick);
  await db.query(sql`
    update send_queue q
       set carrier_id = u.carrier_id
      from unnest(${each(({ messageId }) => messageId)}::uuid[], ${each(({ epoch }) => epoch)}::integer[],
                  ${each(({ to }) => to)}::uuid[]) as u (message_id, epoch, carrier_id)
     where q.message_id = any (array[u.message_id]) and q.lease_epoch = u.epoch`);
}
