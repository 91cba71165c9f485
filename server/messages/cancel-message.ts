import { type Actor, judgeKey, lockAccounts, recordAudit } from "#accounts";
import { type Database, type Queryable, sql } from "#platform";
import type { MessageRow } from "./message-row.ts";
import { failureInQueue, moveMessages } from "./move.ts";
import type { MoveListener } from "./move-listener.ts";
import { findMessage } from "./read.ts";

export type Cancellation =
  | { outcome: "canceled" | "already_canceled" | "not_cancelable"; message: MessageRow }
  | { outcome: "not_found" | "key_revoked" | "key_expired" };

export type CancelRequest = {
  accountId: string;
  /** Null where a person cancels. */
  keyId: string | null;
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
  listener: MoveListener,
): Promise<Cancellation> {
  const { accountId, keyId, messageId, actor, now } = request;
  // Asked before the transaction, which would wait for a second connection. Whoever takes the message
  // up meanwhile counts the epoch on, and the answer holds no longer.
  const epoch = await findWaiting(db, request);
  const isCancelable = epoch !== undefined && !(await request.isBegun());
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [accountId]);
    // It was good when the request began; only under the lock it cannot be revoked.
    const judged = keyId === null ? "valid" : await judgeKey(tx, { keyId, accountId });
    if (judged !== "valid") return { outcome: `key_${judged}` };
    const epochNow = await findWaiting(tx, request, sql`for update`);
    const message = await findMessage(tx, accountId, messageId);
    if (!message) return { outcome: "not_found" };
    if (message.error_code === "CANCELED") return { outcome: "already_canceled", message };
    if (!isCancelable || epochNow !== epoch) return { outcome: "not_cancelable", message };
    await tx.query(sql`delete from send_queue where message_id = ${messageId}`);
    await moveMessages(tx, [failureInQueue(message, "CANCELED", now)], listener);
    if (actor !== undefined)
      await recordAudit(tx, "message.canceled", { actor, now, accountId, objectId: messageId });
    const canceled = await findMessage(tx, accountId, messageId);
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
