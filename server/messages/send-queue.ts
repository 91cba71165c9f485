import { type Actor, lockAccounts, recordAudit } from "#accounts";
import {
  type Clock,
  type Database,
  LEASE_MS,
  type Loop,
  NIL_ID,
  type Queryable,
  sql,
  type Transaction,
} from "#platform";
import type { MessageRow } from "./message-row.ts";
import { messageColumns } from "./message-row.ts";
import { messageOfMove, type Move, moveMessages } from "./move.ts";
import type { Outbox } from "./outbox.ts";
import { findMessagesOf } from "./read.ts";

export type Cancellation =
  | { outcome: "canceled" | "already_canceled"; message: MessageRow }
  | { outcome: "not_found" | "not_cancelable" };

export type CancelRequest = {
  accountId: string;
  messageId: string;
  /** The person, where the audit log is to tell of it. */
  actor?: Actor | undefined;
  now: Date;
  /** Whether a carrier has a segment of it, or may have. */
  isBegun: () => Promise<boolean>;
};

/**
 * Ends a message that waits. Whoever hands messages over leases the queue row first, and both take
 * its lock: a message is either canceled and refunded, or handed over, never both.
 */
export async function cancelMessage(
  db: Database,
  request: CancelRequest,
  outbox?: Outbox,
): Promise<Cancellation> {
  const { accountId, messageId, actor, now } = request;
  // Asked before the transaction, which would wait for a second connection. Whoever takes the message
  // up meanwhile counts the epoch on, and the answer holds no longer.
  const epoch = await findWaiting(db, request);
  const isCancelable = epoch !== undefined && !(await request.isBegun());
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [accountId]);
    const epochNow = await findWaiting(tx, request, sql`for update`);
    const message = await lockMessage(tx, accountId, messageId);
    if (!message) return { outcome: "not_found" };
    if (message.error_code === "CANCELED") return { outcome: "already_canceled", message };
    if (!isCancelable || epochNow !== epoch) return { outcome: "not_cancelable" };
    await tx.query(sql`delete from send_queue where message_id = ${messageId}`);
    await moveMessages(tx, [failure(message, "CANCELED", now)], outbox);
    const entry = { at: now, accountId, action: "message.canceled", objectId: messageId };
    if (actor !== undefined) await recordAudit(tx, { ...entry, actor });
    const canceled = await lockMessage(tx, accountId, messageId);
    return canceled ? { outcome: "canceled", message: canceled } : { outcome: "not_found" };
  });
}

/** The lease epoch of a message that waits; undefined where somebody has it, or it has left. */
async function findWaiting(
  db: Queryable,
  { accountId, messageId }: CancelRequest,
  lock = sql``,
): Promise<number | undefined> {
  const [waiting] = await db.query<{ lease_epoch: number }>(sql`
    select lease_epoch
      from send_queue
     where message_id = ${messageId} and account_id = ${accountId} and leased_by is null
         ${lock}`);
  return waiting?.lease_epoch;
}

async function lockMessage(
  tx: Transaction,
  accountId: string,
  messageId: string,
): Promise<MessageRow | undefined> {
  const [message] = await tx.query<MessageRow>(sql`
    select ${messageColumns}
      from messages m
     where m.account_id = ${accountId} and m.message_id = ${messageId}
       for no key update`);
  return message;
}

/** Messages ended in one transaction; more are taken up by the next pass. */
const EXPIRE_BATCH = 500;

/**
 * Ends messages that nobody took up within their validity. What was taken up once may be with a
 * carrier, whatever became of its lease: whoever sends ends that, by what is on record of it.
 */
export function expireMessages({ db, clock, outbox }: ExpiryDeps): Loop {
  return {
    name: "end expired messages",
    idleMs: 1_000,
    pass: () => expirePass(db, clock.now(), outbox),
  };
}

type ExpiryDeps = { db: Database; clock: Clock; outbox?: Outbox };

type Overdue = { message_id: string; account_id: string };

async function expirePass(db: Database, now: Date, outbox?: Outbox): Promise<number> {
  const overdue = await db.query<Overdue>(sql`
    select message_id, account_id
      from send_queue
     where expires_at <= ${now} and lease_epoch = 0
     order by expires_at
     limit ${EXPIRE_BATCH}`);
  if (overdue.length === 0) return 0;
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [...new Set(overdue.map(({ account_id }) => account_id))]);
    const expired = await tx.query<Overdue>(sql`
      delete from send_queue
       where message_id in (
               select message_id
                 from send_queue
                where message_id = any (${overdue.map(({ message_id }) => message_id)}::uuid[])
                  and lease_epoch = 0 and expires_at <= ${now}
                order by message_id
                  for update skip locked
             )
      returning message_id, account_id`);
    const messages = [...(await findMessagesOf(tx, expired)).values()];
    const moved = await moveMessages(
      tx,
      messages.map((message) => failure(message, "EXPIRED", now)),
      outbox,
    );
    return moved.size;
  });
}

function failure(message: MessageRow, code: "CANCELED" | "EXPIRED", at: Date): Move {
  const error = { code, carrierCode: null };
  return { ...messageOfMove(message), from: "QUEUED", to: "FAILED", at, error };
}

/**
 * Extends the leases that a living node holds; answers those it still has, with their epochs. A node
 * may overtake itself: the epoch tells its lease from the one that ran out before. Locks by id, as
 * those who record answers do meanwhile.
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
     where q.message_id = held.message_id
    returning q.message_id, q.lease_epoch`);
  return new Map(rows.map(({ message_id, lease_epoch }) => [message_id, lease_epoch]));
}

export type Stranded = {
  message_id: string;
  account_id: string;
  lease_epoch: number;
  attempt: number;
  /** Text, because a date would lose the microseconds, and with them the place. */
  due_at: string;
};

type StrandedRequest = {
  carrierId: string;
  afterMs: number;
  /** The last one of the page before. */
  after: Stranded | undefined;
  limit: number;
};

/**
 * A page of the messages that waited for a carrier longer than they should: account by account, as
 * the index has them, each account's oldest first.
 */
export function findStranded(
  db: Database,
  { carrierId, afterMs, after, limit }: StrandedRequest,
): Promise<Stranded[]> {
  const { account_id, due_at, message_id } = after ?? BEFORE_ALL_STRANDED;
  // By the time of the statement, which an index can compare with; clock_timestamp() it cannot.
  return db.query(sql`
    select message_id, account_id, lease_epoch, attempt, due_at::text
      from send_queue
     where carrier_id = ${carrierId} and leased_by is null
       and due_at <= statement_timestamp() - make_interval(secs => ${afterMs / 1000})
       and (account_id, due_at, message_id) > (${account_id}::uuid, ${due_at}::timestamptz, ${message_id}::uuid)
     order by account_id, send_queue.due_at, message_id
     limit ${limit}`);
}

const BEFORE_ALL_STRANDED = { account_id: NIL_ID, due_at: "-infinity", message_id: NIL_ID };

type OverdueRequest = { nodeId: string; now: Date; afterMs: number; limit: number };
type OverdueSend = {
  message_id: string;
  account_id: string;
  carrier_id: string;
  lease_epoch: number;
  attempt: number;
  was_leased: boolean;
};

/**
 * Takes up messages whose validity is over and that somebody had taken up before: those that wait, and
 * those whose lease ran out long ago. The oldest first.
 */
export function leaseOverdue(
  db: Database,
  { nodeId, now, afterMs, limit }: OverdueRequest,
): Promise<OverdueSend[]> {
  return db.query(sql`
    update send_queue q
       set leased_by = ${nodeId}, lease_epoch = q.lease_epoch + 1,
           attempt = least(q.attempt::integer + 1, 32767),
           due_at = statement_timestamp() + make_interval(secs => ${LEASE_MS / 1000})
      from (select message_id, leased_by is not null as was_leased
              from send_queue
             where expires_at <= ${now} and lease_epoch > 0
               and (leased_by is null
                    or due_at <= statement_timestamp() - make_interval(secs => ${afterMs / 1000}))
             order by expires_at
             limit ${limit}
               for update skip locked) o
     where q.message_id = o.message_id
    returning q.message_id, q.account_id, q.carrier_id, q.lease_epoch, q.attempt, o.was_leased`);
}

type Reassignment = {
  messageId: string;
  /** Of its lease when it was seen to wait: whoever takes it up counts that on. */
  epoch: number;
  from: string;
  to: string;
};

/** Gives waiting messages to another carrier; what somebody took up meanwhile stays. */
export async function reassign(db: Database, moves: Reassignment[]): Promise<void> {
  const each = <Value>(pick: (move: Reassignment) => Value) => moves.map(pick);
  await db.query(sql`
    update send_queue q
       set carrier_id = u.to_carrier
      from unnest(${each(({ messageId }) => messageId)}::uuid[], ${each(({ epoch }) => epoch)}::integer[],
                  ${each(({ from }) => from)}::uuid[], ${each(({ to }) => to)}::uuid[])
           as u (message_id, epoch, from_carrier, to_carrier)
     where q.message_id = u.message_id and q.lease_epoch = u.epoch and q.carrier_id = u.from_carrier`);
}
