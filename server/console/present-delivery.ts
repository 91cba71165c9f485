import type { Exchange, MemberRole, WebhookDelivery } from "#contract";
import { Problem } from "#http";
import {
  type AttemptRow,
  attemptInWords,
  type DeliveryRow,
  headersOfAttempt,
  isReplayable,
  MAX_ATTEMPTS,
  outcomeClass,
  type TestedEvent,
} from "#webhooks";
import { waitFor } from "./field-problems.ts";
import { maskUrl } from "./mask.ts";

/** A delivery as people see it. */
export function presentDelivery(
  row: DeliveryRow,
  { role, now }: { role: MemberRole; now: Date },
): WebhookDelivery {
  const { last } = row;
  return {
    deliveryId: row.deliveryId,
    eventId: row.deliveryId,
    messageId: row.messageId,
    event: row.event,
    sequence: row.sequence,
    url: role === "viewer" ? maskUrl(row.url) : row.url,
    host: URL.parse(row.url)?.origin ?? "",
    state: row.state,
    attempts: row.attempts,
    maxAttempts: MAX_ATTEMPTS,
    createdAt: row.createdAt.toISOString(),
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    isPaused: row.isPaused,
    lastAttemptAt: last?.at.toISOString() ?? null,
    lastHttpStatus: last?.httpStatus ?? null,
    lastError: last && attemptInWords({ error_class: last.errorClass, error: last.error }),
    durationMs: last && Math.round(last.totalMs),
    replayId: row.replayId,
    isReplayable: isReplayable({ at: row.createdAt }, now),
  };
}

/** One attempt. A viewer does not see the response, which may repeat what it was sent. */
export function presentAttempt(
  delivery: DeliveryRow,
  row: AttemptRow,
  { role, version }: { role: MemberRole; version: string },
): Exchange {
  const isShown = role !== "viewer";
  const shown = isShown ? row : { ...row, answer_headers: null, answer: null };
  return presentExchange(shown, headersOfAttempt(delivery, row, version));
}

function presentExchange(
  row: Omit<AttemptRow, "replay_id" | "ended">,
  requestHeaders: Record<string, string>,
): Exchange {
  return {
    attempt: row.attempt,
    at: row.at.toISOString(),
    requestHeaders: listHeaders(requestHeaders),
    address: row.address,
    httpStatus: row.http_status,
    responseHeaders: listHeaders(row.answer_headers ?? {}),
    responseBody: row.answer?.toString() ?? null,
    timings: {
      dnsMs: rounded(row.dns_ms),
      connectMs: rounded(row.connect_ms),
      tlsMs: rounded(row.tls_ms),
      firstByteMs: rounded(row.first_byte_ms),
      totalMs: Math.round(row.total_ms),
    },
    errorClass: row.error_class,
    error: attemptInWords(row),
  };
}

function listHeaders(headers: Record<string, string | string[]>) {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((each) => ({ name, value: each })),
  );
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** The result of a test event, or the problem that prevented it. */
export function presentTest(tested: TestedEvent) {
  switch (tested.outcome) {
    case "refused": {
      const { code, message } = tested.refusal;
      throw new Problem("VALIDATION_FAILED", [{ field: "url", code, message }]);
    }
    case "rate_limited":
      throw waitFor(tested.retryAfterSeconds);
    case "account_unknown":
      throw new Problem("ACCOUNT_NOT_FOUND");
    case "sent":
      return {
        isDelivered: tested.isDelivered,
        body: tested.body.toString(),
        exchange: presentTestAttempt(tested),
      };
  }
}

function presentTestAttempt(tested: Extract<TestedEvent, { outcome: "sent" }>): Exchange {
  const { outcome, timings, status, address, answer } = tested.attempt;
  const row = {
    attempt: 1,
    at: tested.at,
    http_status: status,
    error_class: outcomeClass(outcome),
    error: "detail" in outcome ? outcome.detail : null,
    dns_ms: timings.dnsMs,
    connect_ms: timings.connectMs,
    tls_ms: timings.tlsMs,
    first_byte_ms: timings.firstByteMs,
    total_ms: timings.totalMs,
    address,
    answer_headers: answer?.headers ?? null,
    answer: answer?.body ?? null,
  };
  return presentExchange(row, tested.headers);
}
