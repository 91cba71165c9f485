import type { DeliveryErrorCode } from "#contract";
import {
  type LockedMessage,
  lockMessagesOf,
  type MessageRow,
  moveMessages,
  type MoveListener,
} from "#messages";
import { sql, type Transaction } from "#platform";
import { finalMove, isBad, noneYet } from "./judge-receipt.ts";
import type { MatchRules } from "./match-receipts.ts";
import { readProgress } from "./submission-receipts.ts";

/**
 * Messages that became SENT after receipts for their segments had come, such as for the first one of
 * a long message: those counted for their segments, and decide now. The caller holds the accounts of
 * `findEarlyRejections`.
 */
export async function settleSent(
  tx: Transaction,
  sent: MessageRow[],
  at: Date,
  { rules, listener }: { rules: MatchRules; listener: MoveListener | undefined },
): Promise<void> {
  if (sent.length === 0) return;
  const messages = [...(await lockMessagesOf(tx, sent)).values()];
  const progress = await readProgress(tx, messages);
  const reasons = await readReasons(tx, messages);
  const moves = messages.flatMap((message) => {
    const { message_id: messageId, carrier_id: carrierId, status } = message;
    const reached = progress.get(messageId) ?? noneYet(message);
    const effects = [...reached.values()].map(({ effect }) => effect);
    const effect = effects.find(isBad) ?? effects.find((each) => each === "delivered");
    if (effect === undefined || effect === null || status !== "SENT") return [];
    const { per } = rules(carrierId ?? "");
    const reason = reasons.get(messageId) ?? { errorCode: null, carrierCode: null };
    return finalMove(message, { effect, progress: reached, per, at, ...reason }) ?? [];
  });
  await moveMessages(tx, moves, listener);
}

type Reason = { errorCode: DeliveryErrorCode | null; carrierCode: string | null };

/** Of messages that a receipt has ended badly: what the first such receipt said. */
async function readReasons(
  tx: Transaction,
  messages: LockedMessage[],
): Promise<Map<string, Reason>> {
  const rows = await tx.query<{ message_id: string } & Reason>(sql`
    select distinct on (s.message_id) s.message_id, r.entry ->> 'error' as "errorCode",
           r.entry ->> 'carrierCode' as "carrierCode"
      from submissions s
     cross join lateral jsonb_array_elements(s.receipts) with ordinality as r (entry, n)
     where s.message_id = any (${messages.map(({ message_id }) => message_id)}::uuid[])
       and s.receipt_effect in ('undelivered', 'rejected') and (r.entry ->> 'applied')::boolean
     order by s.message_id, r.entry ->> 'at', r.n`);
  return new Map(rows.map(({ message_id, ...reason }) => [message_id, reason]));
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
