import type { Pool } from "pg";
import type { Metrics } from "./metrics.ts";

export type PoolMeter = {
  /** A connection was asked for. */
  asked(): void;
  /** No connection could be had, or one was lost while in use. */
  failed(during: "connect" | "work"): void;
};

const NO_METER: PoolMeter = { asked() {}, failed() {} };

/** The metrics of a connection pool. Counts nothing without `metrics`. */
export function poolMeter(metrics: Metrics | undefined, name: string, pool: Pool): PoolMeter {
  if (!metrics) return NO_METER;
  const idle = () => pool.idleCount;
  const busy = () => pool.totalCount - pool.idleCount;
  metrics.databaseConnections(() => [
    { labels: { pool: name, state: "idle" }, value: idle() },
    { labels: { pool: name, state: "busy" }, value: busy() },
  ]);
  metrics.databaseWaiting(() => [{ labels: { pool: name }, value: pool.waitingCount }]);
  const waits = metrics.databaseWaits.labels(name);
  const failures = {
    connect: metrics.databaseFailures.labels(name, "connect"),
    work: metrics.databaseFailures.labels(name, "work"),
  };
  // Present from the start: a counter that appears with its first failure shows no increase.
  for (const counter of [waits, failures.connect, failures.work]) counter.inc(0);
  return {
    asked() {
      if (idle() === 0 && pool.totalCount >= pool.options.max) waits.inc();
    },
    failed: (during) => failures[during].inc(),
  };
}
