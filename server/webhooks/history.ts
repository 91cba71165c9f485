import type { WebhookState } from "#contract";
import { eventId } from "#messages";
import { type Queryable, sql } from "#platform";

type AttemptEntry = {
  attempt: number;
  at: string;
  durationMs: number;
  httpStatus: number | null;
  error: string | null;
};
export type WebhookHistory = { eventId: string; state: WebhookState; attempts: AttemptEntry[] };

type Row = {
  sequence: number;
  attempt: number;
  at: Date;
  http_status: number | null;
  error_class: string | null;
  total_ms: number;
  ended: WebhookState | null;
};

/** What became of a message's webhooks, by the sequence of their status change. */
export async function webhookHistory(
  db: Queryable,
  { accountId, messageId }: { accountId: string; messageId: string },
): Promise<Map<number, WebhookHistory>> {
  // What waits is read first: what ends meanwhile is then seen by its attempts, not missed.
  const waiting = await db.query<{ sequence: number }>(sql`
    select sequence from webhook_deliveries where message_id = ${messageId} and account_id = ${accountId}`);
  const rows = await db.query<Row>(sql`
    select sequence, attempt, at, http_status, error_class, total_ms, ended
      from webhook_attempts
     where account_id = ${accountId} and message_id = ${messageId}
     order by sequence, attempt, at`);
  const history = new Map<number, WebhookHistory>();
  const of = (sequence: number) =>
    history.getOrInsertComputed(sequence, () => ({
      eventId: eventId(messageId, sequence),
      state: "pending",
      attempts: [],
    }));
  for (const { sequence, attempt, at, http_status, error_class, total_ms, ended } of rows) {
    const entry = of(sequence);
    const durationMs = Math.round(total_ms);
    entry.attempts.push({
      attempt,
      at: at.toISOString(),
      durationMs,
      httpStatus: http_status,
      error: error_class,
    });
    // Delivered stays delivered, even if a replay of it failed.
    if (ended && entry.state !== "delivered") entry.state = ended;
  }
  for (const { sequence } of waiting) {
    const entry = of(sequence);
    if (entry.state !== "delivered") entry.state = "pending";
  }
  return history;
}
