/** The only reader of the clock: everything else is handed one, so that tests can own time. */
export type Clock = {
  /** Wall-clock time, for what people and tables see. */
  now(): Date;
  /** Monotonic milliseconds, for waits, leases and durations: it never jumps. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the answer cancels it. */
  timer(ms: number, run: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
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
