/** The only reader of the clock. Everything else is given one, so that tests can control time. */
export type Clock = {
  /** Wall-clock time, for what people and tables see. */
  now(): Date;
  /** Monotonic milliseconds, for waits and durations. Stands still while the machine sleeps. */
  monotonicMs(): number;
  /** The same plus the time spent suspended, for leases: other nodes do not wait for us. */
  leaseMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`. The returned function cancels it. */
  timer(ms: number, run: () => void): () => void;
};

/** A moment on this node, by the clocks for durations and for leases. */
export type LocalMoment = { monotonicMs: number; leaseMs: number };

export function localMoment(clock: Pick<Clock, keyof LocalMoment>): LocalMoment {
  return { monotonicMs: clock.monotonicMs(), leaseMs: clock.leaseMs() };
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  leaseMs: leaseClock(Date.now, () => performance.now()),
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(handle);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const handle = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    });
  },
  timer(ms, run) {
    const handle = setTimeout(run, ms);
    return () => clearTimeout(handle);
  },
};

/** Clock slewing stays far below this, and a shorter suspension loses no lease. */
const MIN_SUSPENDED_MS = 1_000;

/**
 * The monotonic clock stands still while the machine is suspended; the wall clock does not. If the
 * wall clock gained on it between two looks, the machine was suspended for the difference. A wall
 * clock that was set ahead looks the same: leases then seem older than they are and are given up.
 * One that was set back changes nothing.
 */
export function leaseClock(wallMs: () => number, monotonicMs: () => number): () => number {
  let [seenWallMs, seenMs, suspendedMs] = [wallMs(), monotonicMs(), 0];
  return () => {
    const nowWallMs = wallMs();
    const nowMs = monotonicMs();
    const aheadMs = nowWallMs - seenWallMs - (nowMs - seenMs);
    if (aheadMs > MIN_SUSPENDED_MS) suspendedMs += aheadMs;
    seenWallMs = nowWallMs;
    seenMs = nowMs;
    return nowMs + suspendedMs;
  };
}
