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
    host: URL.parse(row.url)?.host ?? "",
    state: row.state,
    attempts: row.attempts,
    maxAttempts: MAX_ATTEMPTS,
    createdAt: row.createdAt.toISOString(),
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    lastAttemptAt: last?.at.toISOString() ?? null,
    lastHttpStatus: last?.httpStatus ?? null,
    lastError: last && attemptInWords({ error_class: last.errorClass, error: last.error }),
    durationMs: last && Math.round(last.totalMs),
    replayId: row.replayId,
    isReplayable: isReplayable({ at: row.createdAt }, now),
  };
}

/** One attempt; a viewer is not shown the answer, which may repeat what it got. */
export function presentAttempt(
  delivery: DeliveryRow,
  row: AttemptRow,
  { role, version }: { role: MemberRole; version: string },
): Exchange {
  const isShown = role !== "viewer";
  return {
    attempt: row.attempt,
    at: row.at.toISOString(),
    requestHeaders: listHeaders(headersOfAttempt(delivery, row, version)),
    address: row.address,
    httpStatus: row.http_status,
    responseHeaders: listHeaders((isShown && row.answer_headers) || {}),
    responseBody: isShown ? (row.answer?.toString() ?? null) : null,
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

function listHeaders(headers: Record<string, string | string[] | undefined>) {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => ({ name, value: each })),
  );
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** What became of a test event, or the problem that kept it from being sent. */
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
  const { attempt, at, headers } = tested;
  const { outcome, timings } = attempt;
  const errorClass = outcomeClass(outcome);
  return {
    attempt: 1,
    at: at.toISOString(),
    requestHeaders: listHeaders(headers),
    address: attempt.address,
    httpStatus: attempt.status,
    responseHeaders: listHeaders(attempt.answer?.headers ?? {}),
    responseBody: attempt.answer?.body.toString() ?? null,
    timings: {
      dnsMs: rounded(timings.dnsMs),
      connectMs: rounded(timings.connectMs),
      tlsMs: rounded(timings.tlsMs),
      firstByteMs: rounded(timings.firstByteMs),
      totalMs: Math.round(timings.totalMs),
    },
    errorClass,
    error: attemptInWords({
      error_class: errorClass,
      error: "detail" in outcome ? outcome.detail : null,
    }),
  };
}
