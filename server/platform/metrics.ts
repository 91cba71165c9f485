import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

/** From half a millisecond to the longest a request may take. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Everything `/metrics` shows. Names are part of what operators build on: they only ever gain. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: "posthorn_" });
  return {
    registry,
    requests: new Histogram({
      name: "posthorn_http_request_seconds",
      help: "Time to answer a request, by operation and status.",
      labelNames: ["operation", "status"],
      buckets: SECONDS,
      registers,
    }),
    accepted: new Counter({
      name: "posthorn_messages_accepted_total",
      help: "Messages accepted and charged.",
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
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
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
  };
}
