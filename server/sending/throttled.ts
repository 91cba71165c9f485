import type { SubmitOutcome } from "#carriers";

/** What it says of a message that its carrier throttles it. */
export type Throttled = {
  /** How often, by now, others got through between two of its tries; 0 where nothing did since the last. */
  overtaken: number;
  /** Whether it has been tried in its place for long enough, and another should be tried first. */
  makesWay: boolean;
};

/** So often one message is tried in its place while nothing else was throttled: it may be the only one. */
const TRIES_ALONE = 5;
/** So often while everything is: then others would fare no better, and the order is kept. */
const TRIES_AMONG_MANY = 30;
const MANY = 3;
const MAX_KNOWN = 1_000;

export type ThrottleWatch = ReturnType<typeof throttleWatch>;

/**
 * Tells a carrier that throttles everybody from one that throttles a single message, such as for a
 * recipient whose own queue is full. In memory: who begins anew knows soon enough.
 */
export function throttleWatch() {
  /** By message: what had got through when it was last throttled, and what came of it. */
  const known = new Map<string, { passes: number; tries: number; overtaken: number }>();
  let passes = 0;
  /** Different messages that were throttled since anything got through. */
  const held = new Set<string>();

  return {
    /** What an answer says; undefined where it does not throttle. */
    note(messageId: string, answer: SubmitOutcome): Throttled | undefined {
      const isThrottled = answer.kind === "refused" && answer.temporary && answer.throttled;
      const hasPassed =
        answer.kind === "accepted" || (answer.kind === "refused" && !answer.temporary);
      if (hasPassed) {
        passes += 1;
        held.clear();
        known.delete(messageId);
      }
      if (!isThrottled) return undefined;
      const before = known.get(messageId) ?? { passes, tries: 0, overtaken: 0 };
      const isOvertaken = passes > before.passes;
      const overtaken = before.overtaken + (isOvertaken ? 1 : 0);
      const tries = isOvertaken ? 1 : before.tries + 1;
      known.delete(messageId);
      known.set(messageId, { passes, tries, overtaken });
      if (held.size < MANY) held.add(messageId);
      const [oldest] = known.keys();
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
      const most = held.size < MANY ? TRIES_ALONE : TRIES_AMONG_MANY;
      return { overtaken: isOvertaken ? overtaken : 0, makesWay: tries % most === 0 };
    },
  };
}
