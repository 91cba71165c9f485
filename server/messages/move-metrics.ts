import type { Metrics } from "#platform";
import type { Move } from "./move.ts";
import type { MoveListener, WebhookIntake } from "./move-listener.ts";

/** Counts status changes on this node, and hands their webhooks to its delivery, if any. */
export function countedMoves(metrics: Metrics, webhooks: WebhookIntake | undefined): MoveListener {
  const moved = metrics.counter(
    "messages_moved_total",
    "Changes of status after QUEUED, by the new status and, where there is one, the error.",
    ["status", "error"],
  );
  const refunds = metrics.counter("refunds_total", "Messages that FAILED and were refunded.");
  return {
    webhooks,
    moved(moves) {
      for (const [labels, { length }] of Map.groupBy(moves, labelsOf)) {
        moved.labels(...labels.split(" ")).inc(length);
      }
      refunds.inc(moves.filter(({ to }) => to === "FAILED").length);
    },
  };
}

function labelsOf(move: Move): string {
  return `${move.to} ${"error" in move ? move.error.code : ""}`;
}
