import type { Metrics } from "#platform";
import { type Doubt, doubtOf, type Submission } from "./record.ts";

const DOUBTS: Doubt[] = ["timeout", "link_lost", "process_lost"];

export type RecordMetrics = ReturnType<typeof recordMetrics>;

/** Metrics of answers and receipts as they are stored. */
export function recordMetrics(metrics: Metrics) {
  const countDoubt = metrics.tally(
    "doubts_total",
    "Segments that a carrier may or may not have, by why that is not known.",
    { label: "reason", known: DOUBTS },
  );
  const parked = metrics.counter(
    "receipts_parked_total",
    "Receipts kept because no submission matched them yet.",
  );
  return {
    stored(submissions: readonly Submission[]) {
      for (const submission of submissions) {
        const reason = doubtOf(submission);
        if (reason !== null) countDoubt(reason);
      }
    },
    parked: (count: number) => parked.inc(count),
  };
}
