import { DAY_MS, HOUR_MS, MINUTE_MS } from "#platform";
import { isSuccess, type Outcome } from "./outcome.ts";

/** The wait after a failure at each step; a failure after the last wait exhausts the delivery. */
export const waitsMs = [
  5_000,
  30_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
] as const;
export const MAX_ATTEMPTS = waitsMs.length + 1;

/** Spreads the retries of receivers that failed together, by at most this much either way. */
const JITTER = 0.2;

/** How often all lanes are looked at, for what other nodes wrote and for due retries. */
export const WALK_EVERY_MS = 500;

/** A receiver may slow us down, but not postpone the end of the schedule at will. */
const MAX_LENGTHENING = 2;

/** A failure by our own fault is retried soon and costs the delivery nothing. */
const OUR_FAULT_WAIT_MS = 5_000;

/** How a delivery can end, stored with the attempt that ended it. */
export type Ended = "delivered" | "exhausted" | "gone" | "forbidden";

export type NextStep =
  | { next: "ended"; ended: Ended }
  | { next: "again"; step: number; waitMs: number }
  /** It was no attempt: nothing of it is recorded except in the log. */
  | { next: "not_tried"; waitMs: number };

export type StepContext = {
  /** Failures so far that used a step of the schedule; 0 on the first attempt. */
  step: number;
  now: Date;
  /** In [0, 1). */
  random: number;
};

/** The whole retry policy: what an outcome means for its delivery. */
export function nextStep(outcome: Outcome, { step, now, random }: StepContext): NextStep {
  if (outcome.kind === "forbidden") return { next: "ended", ended: "forbidden" };
  if (outcome.kind === "our_fault") return { next: "not_tried", waitMs: OUR_FAULT_WAIT_MS };
  if (isSuccess(outcome)) return { next: "ended", ended: "delivered" };
  if (outcome.kind === "answered" && outcome.status === 410)
    return { next: "ended", ended: "gone" };
  const plannedMs = waitsMs[step];
  if (plannedMs === undefined) return { next: "ended", ended: "exhausted" };
  const wishMs = outcome.kind === "answered" ? retryAfterMs(outcome.retryAfter, now) : 0;
  const askedMs = Math.min(wishMs, MAX_LENGTHENING * plannedMs);
  const middleMs = Math.max(plannedMs, askedMs);
  const earliestMs = middleMs * (1 - JITTER);
  // A due retry may have to wait for the next walk.
  const latestMs = middleMs * (1 + JITTER) - WALK_EVERY_MS;
  // Jitter never brings us back before the receiver wants us.
  const waitMs = Math.max(earliestMs + (latestMs - earliestMs) * random, askedMs);
  return { next: "again", step: step + 1, waitMs: Math.round(waitMs) };
}

/**
 * The wait that a `Retry-After` header asks for: seconds or a date. Zero if it is missing, in the
 * past or unreadable.
 */
function retryAfterMs(header: string | null, now: Date): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const at = header.endsWith(" GMT") ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime());
}

/** A delivery to an open host waits without using up its steps, so this limit ends it. */
export const MAX_WAIT_FOR_OPEN_HOST_MS = DAY_MS;

export function isTooOldToWait(createdAt: Date, now: Date): boolean {
  return now.getTime() - createdAt.getTime() > MAX_WAIT_FOR_OPEN_HOST_MS;
}
