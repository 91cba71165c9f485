import { type DeliveryErrorCode, deliveryErrors, type Status } from "#contract";
import { sql, type Transaction } from "#platform";
import { eventBody, type StatusChange } from "./event-body.ts";
import { hostKey } from "./host-key.ts";

/** A step of one message from one status to the next. */
export type Move = {
  accountId: string;
  messageId: string;
  recipient: string;
  callbackUrl: string | null;
  from: Status;
  at: Date;
} & (
  | { to: "SENT" | "DELIVERED" }
  | { to: "UNDELIVERED" | "FAILED"; error: { code: DeliveryErrorCode; carrierCode: string | null } }
);

/** Who hears of moves on this node, once they are committed: webhooks, and metrics. */
export type Outbox = {
  /** There are new events for these lanes. */
  wake(hostKeys: readonly bigint[]): void;
  /** These have moved. */
  moved?(moves: readonly Move[]): void;
};

/**
 * The one way a status changes after acceptance. Each message moves if it still has the status
 * given; with it go its refund, its event and its webhook, so a crash leaves all of a step or none.
 * Answers the ids of those that moved. The caller holds the accounts of messages that are to fail.
 */
export async function moveMessages(
  tx: Transaction,
  moves: Move[],
  outbox?: Outbox,
): Promise<Set<string>> {
  if (moves.length === 0) return new Set();
  const lanes = moves.map(laneOf);
  const errorOf = (move: Move) => ("error" in move ? move.error : undefined);
  const rows = await tx.query<{ message_id: string }>(sql`
    select message_id
      from move_messages(
        ${moves.map(({ accountId }) => accountId)}::uuid[], ${moves.map(({ messageId }) => messageId)}::uuid[],
        ${moves.map(({ from }) => from)}::text[], ${moves.map(({ to }) => to)}::text[],
        ${moves.map(({ at }) => at.toISOString())}::timestamptz[],
        ${moves.map((move) => errorOf(move)?.code ?? null)}::text[],
        ${moves.map((move) => errorOf(move)?.carrierCode ?? null)}::text[],
        ${moves.map(bodyOf)}::bytea[], ${lanes.map((lane) => lane?.toString() ?? null)}::bigint[]
      ) as message_id`);
  const moved = new Set(rows.map(({ message_id }) => message_id));
  const woken = [...new Set(lanes)].filter((lane) => lane !== null);
  if (woken.length > 0) tx.afterCommit(() => outbox?.wake(woken));
  tx.afterCommit(() => outbox?.moved?.(moves.filter(({ messageId }) => moved.has(messageId))));
  return moved;
}

function bodyOf(move: Move): Buffer | null {
  return move.callbackUrl === null ? null : eventBody(changeOf(move));
}

function laneOf({ callbackUrl, accountId }: Move): bigint | null {
  return callbackUrl === null ? null : hostKey(accountId, callbackUrl);
}

function changeOf(move: Move): StatusChange {
  const { messageId, recipient, at } = move;
  if (!("error" in move)) return { messageId, recipient, at, status: move.to };
  const { code, carrierCode } = move.error;
  const error = { code, carrierCode, message: deliveryErrors[code].message };
  return { messageId, recipient, at, status: move.to, error };
}
