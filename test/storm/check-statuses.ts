import type { Status } from "#contract";
import type { Check, Violation } from "./checker.ts";

const ranks: Record<Status, number> = {
  QUEUED: 0,
  SENT: 1,
  DELIVERED: 2,
  UNDELIVERED: 2,
  FAILED: 2,
};
const PATHS = new Set([
  "QUEUED",
  "QUEUED SENT",
  "QUEUED FAILED",
  "QUEUED SENT DELIVERED",
  "QUEUED SENT UNDELIVERED",
  "QUEUED SENT FAILED",
]);

/** H7: the statuses that reads saw only move forward, and match the message's history. */
const readsGoForward: Check = (history, state) => {
  const events = Map.groupBy(state.events, ({ messageId }) => messageId);
  const reads = history.of("read").filter(({ status }) => status !== null);
  return [...Map.groupBy(reads, ({ messageId }) => messageId)].flatMap(
    ([messageId, seen]): Violation[] => {
      const known = new Set<Status | null>([
        "QUEUED",
        ...(events.get(messageId) ?? []).map(({ status }) => status),
      ]);
      const strange = seen.find(({ status }) => !known.has(status));
      const isBackwards = seen.some((earlier) =>
        seen.some((later) => earlier.t1 < later.t0 && isBehind(later.status, earlier.status)),
      );
      return [
        ...(strange
          ? [{ check: "H7", what: "a read saw what never was", messageId, status: strange.status }]
          : []),
        ...(isBackwards ? [{ check: "H7", what: "a status went backwards", messageId }] : []),
      ];
    },
  );
};

function isBehind(later: Status | null, earlier: Status | null): boolean {
  if (later === null || earlier === null || later === earlier) return false;
  return ranks[later] <= ranks[earlier];
}

/** H7: a history is a path through the statuses without gaps, and ends at the present one. */
const historiesArePaths: Check = (_history, state) => {
  const events = Map.groupBy(state.events, ({ messageId }) => messageId);
  return state.messages.flatMap(({ messageId, status }) => {
    const own = (events.get(messageId) ?? []).toSorted((a, b) => a.sequence - b.sequence);
    const path = ["QUEUED", ...own.map((event) => event.status)];
    const isNumbered = own.every(({ sequence }, n) => sequence === n + 2);
    const isFine = isNumbered && PATHS.has(path.join(" ")) && path.at(-1) === status;
    return isFine ? [] : [{ check: "H7", what: "a history is no path", messageId, path, status }];
  });
};

export const statusChecks: readonly Check[] = [readsGoForward, historiesArePaths];
