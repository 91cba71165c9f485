/** The only reader of the clock: everything else is handed one, so that tests can own time. */
export type Clock = {
  /** Wall-clock time, for what people and tables see. */
  now(): Date;
  /** Monotonic milliseconds, for waits and durations: it never jumps, and stands still while the machine is suspended. */
  monotonicMs(): number;
  /** The same and what the machine was suspended for, for leases: the others do not wait for it. */
  leaseMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the answer cancels it. */
  timer(ms: number, run: () => void): () => void;
};

/** A moment of this node, by the clock for durations and by that of leases. */
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

/** Clocks are slewed by far less; what is suspended for less than this loses no lease. */
const MIN_SUSPENDED_MS = 1_000;

/**
 * The monotonic clock stands still while the machine is suspended, the wall clock does not: where the wall
 * clock has gone on by more between two looks, the machine was suspended for the difference. A wall clock
 * that was set ahead looks the same: then leases seem older than they are, and are given back. One that was
 * set back adds nothing.
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
