import type { ClaimedDelivery } from "./deliveries.ts";
import type { Health } from "./lane-health.ts";
import type { Attempt } from "./post.ts";
import type { Recorded } from "./record-attempts.ts";
import { isTooOldToWait, nextStep } from "./schedule.ts";

type Context = {
  /** By the database's clock. */
  now: Date;
  /** The health of its lane after this attempt. */
  health: Health;
  /** In [0, 1). */
  random: number;
};

/** What one attempt means for its delivery, as it is recorded. */
export function conclude(
  claim: ClaimedDelivery,
  attempt: Attempt,
  { now, health, random }: Context,
): Recorded {
  const at = new Date(now.getTime() - attempt.timings.totalMs);
  const step = nextStep(attempt.outcome, { step: claim.step, now, random });
  switch (step.next) {
    case "ended":
      return { claim, attempt, at, ...step };
    case "not_tried":
      // An apparent fault of this machine may lie in the network beyond it and never end.
      if (isTooOldToWait(claim.createdAt, now))
        return { claim, attempt, at, next: "ended", ended: "exhausted" };
      return { claim, attempt: null, at, next: "put_back", waitMs: step.waitMs };
    case "again": {
      const isWaitingInVain = health === "open" && isTooOldToWait(claim.createdAt, now);
      if (isWaitingInVain) return { claim, attempt, at, next: "ended", ended: "exhausted" };
      return { claim, attempt, at, ...step };
    }
  }
}
