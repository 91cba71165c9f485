import {
  type LockedMessage,
  lockMessagesOf,
  type MessageRow,
  moveMessages,
  type MoveListener,
} from "#messages";
import { sql, type Transaction } from "#platform";
import { type Ending, finalMove, isBad, noneYet } from "./judge-receipt.ts";
import type { MatchRules } from "./match-receipts.ts";
import { readProgress } from "./submission-receipts.ts";

/**
 * Settles messages that became SENT after receipts for their segments had come, such as for the
 * first of a long message: those receipts were noted and decide now. The caller holds locks on the
 * accounts of `findEarlyRejections`.
 */
export async function settleSent(
  tx: Transaction,
  sent: MessageRow[],
  at: Date,
  { rules, listener }: { rules: MatchRules; listener: MoveListener },
): Promise<void> {
  if (sent.length === 0) return;
  const messages = [...(await lockMessagesOf(tx, sent)).values()];
  const progress = await readProgress(tx, messages);
  const losses = await readLosses(tx, messages);
  const moves = messages.flatMap((message) => {
    const { message_id: messageId, carrier_id: carrierId } = message;
    const reached = progress.get(messageId) ?? noneYet(message);
    // A segment that was submitted again since then is not lost.
    const loss = losses.get(messageId)?.find(({ segment }) => isBad(reached.get(segment)?.effect));
    const isAnyDelivered = [...reached.values()].some(({ effect }) => effect === "delivered");
    if (!(loss || isAnyDelivered)) return [];
    const { per } = rules(carrierId ?? "");
    return finalMove(message, { ...(loss ?? DELIVERED), progress: reached, per, at }) ?? [];
  });
  await moveMessages(tx, moves, listener);
}

type Loss = Ending & { message_id: string; segment: number };

const DELIVERED: Ending = { effect: "delivered", errorCode: null, carrierCode: null };

/**
 * The receipts by which messages lost segments. The applied one is the first. Times cannot tell
 * that: several receipts may come at once, and on nodes whose clocks differ.
 */
async function readLosses(
  tx: Transaction,
  messages: LockedMessage[],
): Promise<Map<string, Loss[]>> {
  const rows = await tx.query<Loss>(sql`
    select s.message_id, s.segment, s.receipt_effect as effect, r.entry ->> 'error' as "errorCode",
           r.entry ->> 'carrierCode' as "carrierCode"
      from submissions s
     cross join lateral jsonb_array_elements(s.receipts) as r (entry)
     where s.message_id = any (${messages.map(({ message_id }) => message_id)}::uuid[])
       and s.receipt_effect in ('undelivered', 'rejected') and r.entry ->> 'error' is not null
     order by (r.entry ->> 'applied')::boolean desc, r.entry ->> 'at', s.segment, s.turn`);
  return Map.groupBy(rows, ({ message_id }) => message_id);
}

/** Accounts of messages that a receipt rejected before their last segment was handed over. */
export async function findEarlyRejections(tx: Transaction, sent: MessageRow[]): Promise<string[]> {
  if (sent.length === 0) return [];
  const rows = await tx.query<{ account_id: string }>(sql`
    select distinct account_id
      from submissions
     where message_id = any (${sent.map(({ message_id }) => message_id)}::uuid[]) and receipt_effect = 'rejected'`);
  return rows.map(({ account_id }) => account_id);
}
