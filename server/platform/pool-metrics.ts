import type { Pool } from "pg";
import type { Metrics } from "./metrics.ts";

export type PoolMeter = {
  /** Somebody asks for a connection. */
  asked(): void;
  /** None could be had, or one was lost while it was at work. */
  failed(during: "connect" | "work"): void;
};

const NO_METER: PoolMeter = { asked() {}, failed() {} };

/** What `/metrics` tells of a pool of connections; nothing is counted without metrics. */
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
  // There from the start: what appears with its first failure shows no rise.
  for (const counter of [waits, failures.connect, failures.work]) counter.inc(0);
  return {
    asked() {
      if (idle() === 0 && pool.totalCount >= pool.options.max) waits.inc();
    },
    failed: (during) => failures[during].inc(),
  };
}
