import type { Clock } from "#platform";

export type ManualClock = Clock & {
  /** Moves time forward and runs what falls due, in order. */
  advance(ms: number): void;
  /** How many timers are set. */
  waiting(): number;
};

type Timer = { atMs: number; run: () => void };

/** A clock that stands still until the test moves it. */
export function manualClock(start = new Date("2026-11-15T09:30:00.000Z")): ManualClock {
  const timers = new Set<Timer>();
  let nowMs = 0;

  function timer(ms: number, run: () => void): () => void {
    const set = { atMs: nowMs + Math.max(0, ms), run };
    timers.add(set);
    return () => void timers.delete(set);
  }

  return {
    now: () => new Date(start.getTime() + nowMs),
    monotonicMs: () => nowMs,
    leaseMs: () => nowMs,
    timer,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const cancel = timer(ms, resolve);
        signal?.addEventListener("abort", () => (cancel(), resolve()), { once: true });
      });
    },
    advance(ms) {
      const endMs = nowMs + ms;
      for (let next = earliest(timers); next && next.atMs <= endMs; next = earliest(timers)) {
        timers.delete(next);
        nowMs = next.atMs;
        next.run();
      }
      nowMs = endMs;
    },
    waiting: () => timers.size,
  };
}

function earliest(timers: Set<Timer>): Timer | undefined {
  return [...timers].toSorted((a, b) => a.atMs - b.atMs)[0];
}
