import type { Failure } from "./egress/failure.ts";

/** What became of one POST. */
export type Outcome = { kind: "answered"; status: number; retryAfter: string | null } | Failure;

export function isSuccess(outcome: Outcome): boolean {
  return outcome.kind === "answered" && outcome.status >= 200 && outcome.status < 300;
}

/** The outcome in one word, for tables and metrics; null for a success. */
export function outcomeClass(outcome: Outcome): string | null {
  if (isSuccess(outcome)) return null;
  if (outcome.kind === "answered")
    return outcome.status === 410 ? "gone" : `http_${outcome.status}`;
  return outcome.kind === "failed" ? outcome.class : outcome.kind;
}

/** Attempts that held a slot until a time limit; others fail cheaply. */
export function isTimeout(outcome: Outcome): boolean {
  return outcome.kind === "failed" && outcome.class.endsWith("timeout");
}

/** Excludes time-outs: the network, or others that held up the attempt, may be at fault. */
export function isTlsFailure(outcome: Outcome): boolean {
  return outcome.kind === "failed" && outcome.class.startsWith("tls_") && !isTimeout(outcome);
}
