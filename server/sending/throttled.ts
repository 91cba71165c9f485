import type { SubmitOutcome } from "#carriers";
import { type Clock, keepNewest } from "#platform";

/** How many tries a message gets without losing its place, while few messages are throttled. */
const TRIES_ALONE = 5;
/** The same while MANY are throttled and nothing gets through: others would fare no better. */
const TRIES_AMONG_MANY = 10;
const MANY = 3;

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** If no others got through meanwhile, it waits a fifth of the time since its first throttle. */
const SHARE_OF_TIME = 0.2;

const MAX_KNOWN = 10_000;

type Throttled = {
  sinceMs: number;
  tries: number;
  passes: number;
  overtaken: number;
  wasOvertaken: boolean;
};

export type ThrottleWatch = ReturnType<typeof throttleWatch>;

/**
 * How long a throttled message has to wait. At first only the carrier waits, a second or more each
 * time, and the message keeps its place. But it may be the only one, such as if its recipient's own
 * queue is full: then it makes way. If others get through between its tries, its wait doubles each
 * time, so that it slows them less and less. In memory: a new process learns it anew.
 */
export function throttleWatch(clock: Pick<Clock, "monotonicMs">) {
  const known = new Map<string, Throttled>();
  /** `passes` counts accepted submissions; `held` has messages throttled since the last one. */
  let passes = 0;
  const held = new Set<string>();

  function throttle(messageId: string): number {
    const nowMs = clock.monotonicMs();
    const each = known.getOrInsertComputed(messageId, () => ({
      sinceMs: nowMs,
      tries: 0,
      passes,
      overtaken: 0,
      wasOvertaken: false,
    }));
    keepNewest(known, MAX_KNOWN);
    if (held.size < MANY) held.add(messageId);

    const isOvertaken = passes > each.passes;
    each.passes = passes;
    each.wasOvertaken = isOvertaken;
    each.tries += 1;
    if (each.tries <= (held.size < MANY ? TRIES_ALONE : TRIES_AMONG_MANY)) return 0;
    if (isOvertaken) each.overtaken += 1;
    const waitMs = isOvertaken
      ? FIRST_WAIT_MS * 2 ** Math.min(16, each.overtaken - 1)
      : Math.max(FIRST_WAIT_MS, SHARE_OF_TIME * (nowMs - each.sinceMs));
    return Math.min(LONGEST_WAIT_MS, Math.round(waitMs));
  }

  return {
    /**
     * Whether others got through between its last two tries, and again since the last: one more
     * throttle is then about this message alone. Once is not enough: if a carrier throttles all,
     * the first message that it lets through overtakes the others.
     */
    isOvertaken(messageId: string): boolean {
      const each = known.get(messageId);
      return each !== undefined && each.wasOvertaken && passes > each.passes;
    },
    /** How long the message has to wait after this answer, whether it throttles or not. */
    note(messageId: string, answer: SubmitOutcome): number {
      if (answer.kind === "refused" && answer.temporary)
        return answer.throttled ? throttle(messageId) : 0;
      if (answer.kind === "accepted" || answer.kind === "refused") known.delete(messageId);
      if (answer.kind === "accepted") {
        passes += 1;
        held.clear();
      }
      return 0;
    },
  };
}
