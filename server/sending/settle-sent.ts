import { lockMessagesOf, type MessageRow, moveMessages, type Outbox } from "#messages";
import { sql, type Transaction } from "#platform";
import { finalMove, isBad, noneYet } from "./judge-receipt.ts";
import type { MatchRules } from "./match-receipts.ts";
import { readSegments } from "./submission-receipts.ts";

/**
 * Messages that became SENT after receipts for their segments had come, such as for the first one of
 * a long message: those counted for their segments, and decide now. The caller holds the accounts of `findEarlyRejections`.
 */
export async function settleSent(
  tx: Transaction,
  sent: MessageRow[],
  at: Date,
  { rules, outbox }: { rules: MatchRules; outbox: Outbox | undefined },
): Promise<void> {
  if (sent.length === 0) return;
  const messages = await lockMessagesOf(tx, sent);
  const progress = await readSegments(tx, [...messages.values()]);
  const moves = [...messages.values()].flatMap((message) => {
    const reached = progress.get(message.message_id) ?? noneYet(message);
    const effects = [...reached.values()].map(({ effect }) => effect);
    const effect = effects.find(isBad) ?? effects.find((each) => each === "delivered");
    if (effect === undefined || effect === null || message.status !== "SENT") return [];
    const { per } = rules(message.carrier_id ?? "");
    const errorCode = effect === "rejected" ? "REJECTED_BY_CARRIER" : "RECIPIENT_UNREACHABLE";
    return (
      finalMove(message, { effect, progress: reached, per, at, errorCode, carrierCode: null }) ?? []
    );
  });
  await moveMessages(tx, moves, outbox);
}

/** Accounts of messages that a receipt has rejected before their last segment was handed over. */
export async function findEarlyRejections(tx: Transaction, sent: MessageRow[]): Promise<string[]> {
  if (sent.length === 0) return [];
  const rows = await tx.query<{ account_id: string }>(sql`
    select distinct account_id
      from submissions
     where message_id = any (${sent.map(({ message_id }) => message_id)}::uuid[]) and receipt_effect = 'rejected'`);
  return rows.map(({ account_id }) => account_id);
}
