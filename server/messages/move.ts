import type { Status } from "#contract";
import { LEASE_MS, sql, type Transaction } from "#platform";
import type { DeliveryFault } from "./event-body.ts";
import type { MessageRow } from "./message-row.ts";
import { type MovedRow, type MoveListener, reservedOf, tell, toldOf } from "./move-listener.ts";

/** One message's step from one status to another. */
export type Move = {
  accountId: string;
  messageId: string;
  recipient: string;
  callbackUrl: string | null;
  from: Status;
  at: Date;
  /** The carrier that has the message now; left out if that has not changed. */
  carrierId?: string;
} & ({ to: "SENT" | "DELIVERED" } | { to: "UNDELIVERED" | "FAILED"; error: DeliveryFault });

/** What a move needs to know of its message. */
export function messageOfMove({
  account_id: accountId,
  message_id: messageId,
  recipient,
  callback_url: callbackUrl,
}: Pick<MessageRow, "account_id" | "message_id" | "recipient" | "callback_url">) {
  return { accountId, messageId, recipient, callbackUrl };
}

/** The failure of a message that is still in the queue. */
export function failureInQueue(
  message: MessageRow,
  code: "CANCELED" | "EXPIRED" | "NO_ROUTE",
  at: Date,
): Move {
  const error = { code, carrierCode: null };
  return { ...messageOfMove(message), from: "QUEUED", to: "FAILED", at, error };
}

/**
 * The only way in which a status changes after acceptance. Each message moves if it still has the
 * given status. Refund, event and webhook are written with it, so a crash leaves all of a step or
 * none. Returns the ids that moved. The caller must have locked the accounts of failing messages.
 */
export async function moveMessages(
  tx: Transaction,
  moves: Move[],
  listener: MoveListener,
): Promise<Set<string>> {
  if (moves.length === 0) return new Set();
  const { webhooks } = listener;
  const told = moves.map((move) => toldOf(move, webhooks));
  const errorOf = (move: Move) => ("error" in move ? move.error : undefined);
  tx.afterFailure(() => webhooks?.release(reservedOf(told)));
  const rows = await tx.query<MovedRow>(sql`
    select message_id, sequence, is_leased, is_blocked, moved_at
      from move_messages(
        ${moves.map(({ accountId }) => accountId)}::uuid[], ${moves.map(({ messageId }) => messageId)}::uuid[],
        ${moves.map(({ from }) => from)}::text[], ${moves.map(({ to }) => to)}::text[],
        ${moves.map(({ at }) => at)}::timestamptz[], ${moves.map(({ carrierId }) => carrierId ?? null)}::uuid[],
        ${moves.map((move) => errorOf(move)?.code ?? null)}::text[],
        ${moves.map((move) => errorOf(move)?.carrierCode ?? null)}::text[],
        ${told.map((each) => each?.body ?? null)}::bytea[],
        ${told.map((each) => each?.hostKey.toString() ?? null)}::bigint[],
        ${told.map((each) => (each?.reserved ?? null) !== null)}::boolean[], make_interval(secs => ${LEASE_MS / 1000})
      )`);
  const moved = new Map(rows.map((row) => [row.message_id, row]));
  tx.afterCommit(() => {
    listener.moved(moves.filter(({ messageId }) => moved.has(messageId)));
    if (webhooks) tell(webhooks, told, moved);
  });
  return new Set(moved.keys());
}
