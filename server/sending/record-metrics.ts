import type { Metrics } from "#platform";
import { doubtOf, type Submission } from "./record.ts";

export type RecordMetrics = ReturnType<typeof recordMetrics>;

/** What `/metrics` tells of answers and receipts as they are stored. */
export function recordMetrics(metrics: Metrics) {
  const doubts = metrics.counter(
    "doubts_total",
    "Segments that a carrier may or may not have, by why that is not known.",
    ["reason"],
  );
  const parked = metrics.counter(
    "receipts_parked_total",
    "Receipts kept because no submission matched them yet.",
  );
  return {
    stored(submissions: readonly Submission[]) {
      for (const submission of submissions) {
        const reason = doubtOf(submission);
        if (reason !== null) doubts.labels(reason).inc();
      }
    },
    parked: (count: number) => parked.inc(count),
  };
}
