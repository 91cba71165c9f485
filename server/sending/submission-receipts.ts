import type { Receipt } from "#carriers";
import type { LockedMessage } from "#messages";
import { isoTime, sql, type Transaction } from "#platform";
import { noneYet, type Progress, type Verdict } from "./judge-receipt.ts";
import type { Match } from "./match-receipts.ts";

type SegmentRow = {
  message_id: string;
  segment: number;
  effect: Receipt["effect"] | null;
  open: number[];
};

/**
 * What the segments of messages have reached; one delivered submission is enough. A SENT message
 * has only the segments on record: a carrier may have taken it whole, whatever its settings now.
 */
export async function readProgress(
  tx: Transaction,
  messages: LockedMessage[],
): Promise<Map<string, Progress>> {
  if (messages.length === 0) return new Map();
  const rows = await tx.query<SegmentRow>(sql`
    select message_id, segment, coalesce(array_agg(turn) filter (where receipt_effect is null), '{}') as open,
           case when bool_or(receipt_effect = 'delivered') then 'delivered'
                when bool_and(receipt_effect is not null) then max(receipt_effect)
           end as effect
      from submissions
     where message_id = any (${messages.map(({ message_id }) => message_id)}::uuid[]) and outcome = 'accepted'
     group by message_id, segment`);
  const progress = new Map<string, Progress>(
    messages.map((message) => [
      message.message_id,
      message.status === "QUEUED" ? noneYet(message) : new Map(),
    ]),
  );
  for (const { message_id, segment, effect, open } of rows)
    progress.get(message_id)?.set(segment, { effect, open: new Set(open) });
  return progress;
}

export type Note = Omit<Verdict, "move"> & {
  match: Match;
  receipt: Receipt;
  at: Date;
  /** Whether its message had ended before it came. */
  isLate: boolean;
};

/** Bounds the history if a carrier repeats receipts for ever. */
const MAX_KEPT = 100;

/** Keeps receipts with the submissions they belong to. */
export async function noteReceipts(tx: Transaction, notes: Note[]): Promise<void> {
  const entries = notes.map(({ receipt, at, isApplied, isLoss }) => ({
    at: isoTime(at),
    state: receipt.state,
    carrierCode: receipt.carrierCode,
    applied: isApplied,
    ...(isLoss && { error: receipt.errorCode ?? "UNKNOWN" }),
  }));
  // Several receipts of one submission in a batch become one update, in the order they came; at most
  // one of them counts. The ids are compared in the same way as in `accept_messages`.
  await tx.query(sql`
    update submissions s
       set receipts = case when u.effect is null and jsonb_array_length(s.receipts) >= ${MAX_KEPT} then s.receipts
                           else coalesce(s.receipts, '[]') || u.receipts
                      end,
           receipt_effect = coalesce(s.receipt_effect, u.effect)
      from (
        select message_id, segment, turn, jsonb_agg(entry order by n) as receipts,
               max(effect) as effect
          from unnest(${notes.map(({ match }) => match.message_id)}::uuid[], ${notes.map(({ match }) => match.segment)}::smallint[],
                      ${notes.map(({ match }) => match.turn)}::integer[], ${entries.map((entry) => JSON.stringify(entry))}::jsonb[],
                      ${notes.map(({ receipt, isCounted }) => (isCounted ? receipt.effect : null))}::text[])
               with ordinality as u (message_id, segment, turn, entry, effect, n)
         group by message_id, segment, turn
      ) u
     where s.message_id = any (array[u.message_id]) and s.segment = u.segment and s.turn = u.turn`);
}
