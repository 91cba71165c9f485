import type { HistoryEntry, SubmissionOutcome } from "#contract";
import { type Queryable, sql } from "#platform";
import { findCarrierNames } from "./carriers-table.ts";

type NotedReceipt = { at: string; state: string; carrierCode: string | null; applied: boolean };
type Row = {
  carrier_id: string;
  segment: number;
  at: Date;
  outcome: SubmissionOutcome | null;
  answered_at: Date | null;
  carrier_message_id: string | null;
  carrier_code: string | null;
  in_doubt_at: Date | null;
  doubt_reason: string | null;
  doubt_action: "resend" | "fail" | null;
  receipts: NotedReceipt[] | null;
};

const reasons: Record<string, string> = {
  timeout: "The carrier did not answer in time.",
  link_lost: "The connection to the carrier was lost before it answered.",
  process_lost: "The sending process ended before the carrier's answer was recorded.",
};

/** The submissions of a message, the doubts about them, and their receipts. */
export async function submissionHistory(db: Queryable, messageId: string): Promise<HistoryEntry[]> {
  const rows = await db.query<Row>(sql`
    select carrier_id, segment, at, outcome, answered_at, carrier_message_id, carrier_code, in_doubt_at,
           doubt_reason, doubt_action, receipts
      from submissions
     where message_id = ${messageId}
     order by at, segment, turn`);
  const names = await findCarrierNames(
    db,
    rows.map(({ carrier_id }) => carrier_id),
  );
  return rows.flatMap((row) => entriesOf(row, names.get(row.carrier_id)?.name ?? "unknown"));
}

/** The carrier that each message was last handed to. Messages that never left are missing. */
export async function findLastCarriers(
  db: Queryable,
  messageIds: readonly string[],
): Promise<Map<string, string>> {
  if (messageIds.length === 0) return new Map();
  const rows = await db.query<{ message_id: string; carrier_id: string }>(sql`
    select distinct on (message_id) message_id, carrier_id
      from submissions
     where message_id = any (${messageIds}::uuid[]) and outcome is distinct from 'unsent'
     order by message_id, at desc, turn desc`);
  return new Map(rows.map(({ message_id, carrier_id }) => [message_id, carrier_id]));
}

function entriesOf(row: Row, carrier: string): HistoryEntry[] {
  const { segment } = row;
  const entries: HistoryEntry[] = [];
  if (row.in_doubt_at) {
    const reason = reasons[row.doubt_reason ?? ""] ?? "The carrier's answer never came.";
    entries.push({
      type: "doubt",
      at: row.in_doubt_at.toISOString(),
      carrier,
      segment,
      reason,
      action: row.doubt_action ?? "resend",
    });
  }
  if (row.outcome) {
    const { carrier_message_id: carrierMessageId, carrier_code: carrierCode } = row;
    entries.push({
      type: "submission",
      at: (row.answered_at ?? row.at).toISOString(),
      carrier,
      segment,
      outcome: row.outcome,
      carrierMessageId,
      carrierCode,
    });
  }
  for (const { at, state, carrierCode, applied } of row.receipts ?? []) {
    entries.push({ type: "receipt", at, carrier, segment, state, carrierCode, applied });
  }
  return entries;
}
