import { type Actor, judgeKey, lockAccounts, recordAudit } from "#accounts";
import { type Database, type Queryable, sql, type Transaction } from "#platform";
import type { MessageRow } from "./message-row.ts";
import { failureInQueue, moveMessages } from "./move.ts";
import type { MoveListener } from "./move-listener.ts";
import { findMessage } from "./read.ts";

export type Cancellation =
  | { outcome: "canceled" | "already_canceled" | "not_cancelable"; message: MessageRow }
  | { outcome: "not_found" | "key_revoked" | "key_expired" | "session_ended" };

export type CancelRequest = {
  accountId: string;
  /** Null if a user cancels. */
  keyId: string | null;
  /** The user's session, if a user cancels from the dashboard. */
  sessionId?: string | undefined;
  messageId: string;
  /** Set if the audit log is to name the user. */
  actor?: Actor | undefined;
  now: Date;
  /** Whether a carrier has, or may have, a segment of the message. */
  isBegun: () => Promise<boolean>;
};

/**
 * Cancels a waiting message. A sender leases the queue row before it hands a message over, and both
 * lock that row: a message is either canceled and refunded, or handed over, never both.
 */
export async function cancelMessage(
  db: Database,
  request: CancelRequest,
  listener: MoveListener,
): Promise<Cancellation> {
  const { accountId, keyId, sessionId, messageId, actor, now } = request;
  // Asked before the transaction, inside which it would need a second connection. If a sender
  // claims the message meanwhile, it raises the epoch, which invalidates this answer.
  const epoch = await findWaiting(db, request);
  const isCancelable = epoch !== undefined && !(await request.isBegun());
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [accountId]);
    // The key was valid when the request began, but only this lock keeps it from being revoked.
    const judged = keyId === null ? "valid" : await judgeKey(tx, { keyId, accountId });
    if (judged !== "valid") return { outcome: `key_${judged}` };
    if (sessionId !== undefined && !(await holdSession(tx, sessionId)))
      return { outcome: "session_ended" };
    const isTaken = isCancelable && (await takeOut(tx, request, epoch));
    const message = await findMessage(tx, accountId, messageId);
    if (!message) return { outcome: "not_found" };
    if (message.error_code === "CANCELED") return { outcome: "already_canceled", message };
    if (!isTaken) return { outcome: "not_cancelable", message };
    await moveMessages(tx, [failureInQueue(message, "CANCELED", now)], listener);
    if (actor !== undefined)
      await recordAudit(tx, "message.canceled", { actor, now, accountId, objectId: messageId });
    const canceled = await findMessage(tx, accountId, messageId);
    return canceled ? { outcome: "canceled", message: canceled } : { outcome: "not_found" };
  });
}

async function holdSession(tx: Transaction, sessionId: string): Promise<boolean> {
  const [row] = await tx.query<{ held: boolean }>(sql`select hold_session(${sessionId}) as held`);
  return row?.held === true;
}

/** The lease epoch of a waiting message; undefined if it is leased or has left the queue. */
async function findWaiting(
  db: Queryable,
  { accountId, messageId }: CancelRequest,
): Promise<number | undefined> {
  const [waiting] = await db.query<{ lease_epoch: number }>(sql`
    select lease_epoch
      from send_queue
     where message_id = ${messageId} and account_id = ${accountId} and leased_by is null`);
  return waiting?.lease_epoch;
}

/** Takes the message off the queue; false if a sender has claimed it since it was found waiting. */
async function takeOut(
  tx: Transaction,
  { messageId }: CancelRequest,
  epoch: number,
): Promise<boolean> {
  const taken = await tx.query(sql`
    delete from send_queue
     where message_id = ${messageId} and lease_epoch = ${epoch}
    returning message_id`);
  return taken.length > 0;
}
