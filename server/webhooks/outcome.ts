import type { Failure } from "./egress/failure.ts";

/** What became of one POST. */
export type Outcome = { kind: "answered"; status: number; retryAfter: string | null } | Failure;

export function isSuccess(outcome: Outcome): boolean {
  return outcome.kind === "answered" && outcome.status >= 200 && outcome.status < 300;
}

/** The outcome in one word, as tables and metrics hold it; null for a success. */
export function outcomeClass(outcome: Outcome): string | null {
  if (isSuccess(outcome)) return null;
  if (outcome.kind === "answered")
    return outcome.status === 410 ? "gone" : `http_${outcome.status}`;
  return outcome.kind === "failed" ? outcome.class : outcome.kind;
}

/** Attempts that held a slot until a time limit freed it; others fail cheaply. */
export function isTimeout(outcome: Outcome): boolean {
  return outcome.kind === "failed" && outcome.class.endsWith("timeout");
}

/** Not by a time-out, which may be the network's fault, or of those that held up the attempt. */
export function isTlsFailure(outcome: Outcome): boolean {
  return outcome.kind === "failed" && outcome.class.startsWith("tls_") && !isTimeout(outcome);
}
