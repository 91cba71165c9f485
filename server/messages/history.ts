import type { HistoryEntry, Status } from "#contract";
import { eventNames } from "#contract/words";
import { type Queryable, type Snapshot, sql } from "#platform";
import { type MessageRow, presentError } from "./message-row.ts";

type StatusEntry = Extract<HistoryEntry, { type: "status" }>;

/** What other rooms know about the history of a message. */
export type HistorySources = {
  /** Submissions, doubts and receipts. */
  submissions(db: Queryable, message: MessageRow): Promise<HistoryEntry[]>;
  /** The webhook of each status change, by its sequence. */
  webhooks(
    db: Queryable,
    message: MessageRow,
  ): Promise<Map<number, NonNullable<StatusEntry["webhook"]>>>;
};

type StatusRow = { sequence: number; status: Status; at: Date };

/** Everything that happened to a message, which was read in the same snapshot, oldest first. */
export async function readHistory(
  snapshot: Snapshot,
  message: MessageRow,
  sources: HistorySources,
): Promise<HistoryEntry[]> {
  const events = await snapshot.query<StatusRow>(sql`
    select sequence, status, at from events where message_id = ${message.message_id} order by sequence`);
  const submissions = await sources.submissions(snapshot, message);
  const webhooks = await sources.webhooks(snapshot, message);
  const queued: StatusRow = { sequence: 1, status: "QUEUED", at: message.created_at };
  const statuses = [queued, ...events].map(({ sequence, status, at }): StatusEntry => {
    const hasError = status === "FAILED" || status === "UNDELIVERED";
    return {
      type: "status",
      at: at.toISOString(),
      sequence,
      event: eventNames[status],
      status,
      error: hasError ? presentError(message.error_code, message.error_carrier_code) : null,
      webhook: webhooks.get(sequence) ?? null,
    };
  });
  // If times are equal, what led to a status comes before it.
  return [...submissions, ...statuses].toSorted((a, b) => compare(a.at, b.at) || rank(a) - rank(b));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const RANKS = { doubt: 1, submission: 2, receipt: 4 } as const;
const STATUS_RANKS = { QUEUED: 0, SENT: 3, DELIVERED: 5, UNDELIVERED: 5, FAILED: 5 } as const;

function rank(entry: HistoryEntry): number {
  return entry.type === "status" ? STATUS_RANKS[entry.status] : RANKS[entry.type];
}
