import type { SubmitOutcome } from "#carriers";
import type { DeliveryErrorCode } from "#contract";

/** What follows for a message once one of its segments was answered or is in doubt. */
export type Step =
  /** The carrier has this segment: the next segment follows, or SENT after the last. */
  | { next: "done" }
  | FailStep
  /** Without a delay it returns to its old place; with one, it goes behind what is due by then. */
  | { next: "again"; delayMs: number; carrierId: string };

export type FailStep = { next: "fail"; code: DeliveryErrorCode; carrierCode: string | null };

export type StepContext = {
  carrierId: string;
  inDoubt: "resend" | "fail";
  /** The carriers of its route that may take the message, in order of preference. */
  route: readonly string[];
  /** Claims of this message so far, this one included. */
  attempt: number;
  /** Doubts about this segment from earlier submissions. */
  doubts: number;
  /** Whether a carrier has another segment of the message: then it stays with that carrier. */
  isBegun: boolean;
  /** Whether we held it back ourselves, which says nothing about the carrier. */
  isKept: boolean;
  /** How long to wait if the carrier throttles. */
  throttledMs: number;
  now: Date;
  expiresAt: Date;
};

/** Nothing leaves after its validity. */
export const EXPIRED = { next: "fail", code: "EXPIRED", carrierCode: null } as const;

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;
/** The last try is this long before the validity ends: time enough to claim the message. */
const LAST_TRY_MS = 1_000;

/** The whole policy of retries and doubt. */
export function nextStep(answer: SubmitOutcome, context: StepContext): Step {
  switch (answer.kind) {
    case "accepted":
      return { next: "done" };
    case "unsent":
      if (context.now >= context.expiresAt) return EXPIRED;
      // The carrier could not write it: it has no room until it can, so nobody claims this before.
      return {
        next: "again",
        delayMs: 0,
        carrierId: context.isKept ? context.carrierId : otherCarrier(context),
      };
    case "refused": {
      const { code, carrierCode } = answer;
      if (!answer.temporary) return refusedForGood(code, carrierCode, context);
      const waitMs = answer.throttled ? context.throttledMs : growing(roundOf(context));
      const delayMs = isRoundOver(context) ? waitMs : 0;
      return {
        next: "again",
        delayMs: withinValidity(delayMs, context),
        carrierId: otherCarrier(context),
      };
    }
    case "in_doubt": {
      const step = afterDoubt(context);
      return step.next === "again" && context.now >= context.expiresAt ? EXPIRED : step;
    }
  }
}

/** A first doubt resends, if the carrier's setting allows it. A second doubt ends the message. */
export function afterDoubt({
  inDoubt,
  doubts,
  carrierId,
}: Pick<StepContext, "inDoubt" | "doubts" | "carrierId">): Step {
  if (inDoubt === "resend" && doubts === 0) return { next: "again", delayMs: 0, carrierId };
  return { next: "fail", code: "UNKNOWN", carrierCode: null };
}

/** A text that this carrier's alphabet cannot hold may still suit another carrier. */
function refusedForGood(
  code: DeliveryErrorCode,
  carrierCode: string | null,
  context: StepContext,
): Step {
  const other = otherCarrier(context);
  const isOurRefusal = carrierCode === null && code === "CONTENT_REJECTED";
  if (isOurRefusal && other !== context.carrierId)
    return { next: "again", delayMs: 0, carrierId: other };
  return { next: "fail", code, carrierCode };
}

/**
 * A wait that would outlast the message's validity ends a second early, for one last try. A message
 * refused within that second waits for the end of its validity and fails as EXPIRED.
 */
function withinValidity(delayMs: number, { now, expiresAt }: StepContext): number {
  const leftMs = Math.max(0, expiresAt.getTime() - now.getTime());
  return Math.min(delayMs, leftMs > LAST_TRY_MS ? leftMs - LAST_TRY_MS : leftMs);
}

/** The next carrier of the route is tried at once; a wait comes only after all have been tried. */
function isRoundOver(context: StepContext): boolean {
  return context.attempt % carriersOf(context) === 0;
}

function roundOf(context: StepContext): number {
  return Math.floor(context.attempt / carriersOf(context));
}

function carriersOf({ route, isBegun }: StepContext): number {
  return isBegun ? 1 : Math.max(1, route.length);
}

function growing(round: number): number {
  return Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(16, round - 1));
}

function otherCarrier({ carrierId, route, isBegun }: StepContext): string {
  if (isBegun || route.length === 0) return carrierId;
  const position = route.indexOf(carrierId);
  return route[(position + 1) % route.length] ?? carrierId;
}
