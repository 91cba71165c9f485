import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

/** One value of a metric that is read when `/metrics` is. */
export type Reading = { labels: Record<string, string>; value: number };

/** Adds a source of readings to a metric. */
export type Watched = (read: () => readonly Reading[]) => void;

/** From half a millisecond to the longest that a request may take. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Everything that `/metrics` shows. Operators build on the names, so they are only ever added.
 * Metrics that several places update are defined here, all others beside the code of their room. On
 * the hot path there is nothing but increments.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: "posthorn_" });

  /** A metric whose values live elsewhere: read when `/metrics` is, and free of cost otherwise. */
  function watched(
    Kind: typeof Gauge | typeof Counter,
    { name, help, labelNames = [] }: { name: string; help: string; labelNames?: string[] },
  ): Watched {
    const sources: (() => readonly Reading[])[] = [];
    const metric = new Kind({
      name: `posthorn_${name}`,
      help,
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const read of sources) for (const { labels, value } of read()) this.inc(labels, value);
      },
    });
    registry.registerMetric(metric);
    return (read) => void sources.push(read);
  }

  return {
    registry,
    requests: new Histogram({
      name: "posthorn_http_request_seconds",
      help: "Time to answer a request, by operation and status.",
      labelNames: ["operation", "status"],
      buckets: SECONDS,
      registers,
    }),
    refused: new Counter({
      name: "posthorn_requests_refused_total",
      help: "Requests answered with an error, by code.",
      labelNames: ["code"],
      registers,
    }),
    batchSize: new Histogram({
      name: "posthorn_batch_size",
      help: "Items per batch, by kind.",
      labelNames: ["kind"],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048],
      registers,
    }),
    batchWaiting: watched(Gauge, {
      name: "batch_waiting",
      help: "Items that gather for the next batch, by kind.",
      labelNames: ["kind"],
    }),
    databaseConnections: watched(Gauge, {
      name: "database_connections",
      help: "Database connections, by pool and whether they are idle or busy.",
      labelNames: ["pool", "state"],
    }),
    databaseWaiting: watched(Gauge, {
      name: "database_waiting",
      help: "Callers that wait for a database connection, by pool.",
      labelNames: ["pool"],
    }),
    databaseWaits: new Counter({
      name: "posthorn_database_waits_total",
      help: "Callers that found every connection of their pool busy.",
      labelNames: ["pool"],
      registers,
    }),
    databaseFailures: new Counter({
      name: "posthorn_database_failures_total",
      help: "Times that the database could not be reached, or was lost amid its work, by pool.",
      labelNames: ["pool", "during"],
      registers,
    }),
    partitionsUntil: new Gauge({
      name: "posthorn_partitions_until_timestamp_seconds",
      help: "Until when rows of a table have a partition of their own.",
      labelNames: ["table"],
      registers,
    }),
    histogram(name: string, help: string, buckets: number[]): Histogram {
      return new Histogram({ name: `posthorn_${name}`, help, buckets, registers });
    },
    gauge(name: string, help: string, labelNames: string[] = []): Gauge {
      return new Gauge({ name: `posthorn_${name}`, help, labelNames, registers });
    },
    counter(name: string, help: string, labelNames: string[] = []): Counter {
      return new Counter({ name: `posthorn_${name}`, help, labelNames, registers });
    },
    /**
     * Counts by one label at the cost of a map lookup, for what happens to every message. Values in
     * `known` are exported as 0 from the start: Prometheus sees a counter grow but not appear, so
     * an alert on a new series would miss its first event.
     */
    tally(
      name: string,
      help: string,
      { label, known = [] }: { label: string; known?: readonly string[] },
    ): (value: string, count?: number) => void {
      const counts = new Map<string, number>(known.map((value) => [value, 0]));
      watched(Counter, { name, help, labelNames: [label] })(() =>
        [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count })),
      );
      return (value, count = 1) => void counts.set(value, (counts.get(value) ?? 0) + count);
    },
    /** A gauge or counter whose values are read when `/metrics` is. */
    watchedGauge: (name: string, help: string, labelNames: string[] = []): Watched =>
      watched(Gauge, { name, help, labelNames }),
    watchedCounter: (name: string, help: string, labelNames: string[] = []): Watched =>
      watched(Counter, { name, help, labelNames }),
  };
}
