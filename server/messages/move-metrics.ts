import type { Metrics } from "#platform";
import type { Move } from "./move.ts";
import type { Outbox } from "./outbox.ts";

/** Counts every change of status on this node, and passes wake-ups on to who delivers webhooks here. */
export function countedOutbox(metrics: Metrics, webhooks: Outbox | undefined): Outbox {
  const moved = metrics.counter(
    "messages_moved_total",
    "Changes of status after QUEUED, by the new status and, where there is one, the error.",
    ["status", "error"],
  );
  const refunds = metrics.counter("refunds_total", "Messages that FAILED and were refunded.");
  return {
    wake: () => undefined,
    ...webhooks,
    moved(moves) {
      for (const move of moves) moved.labels(move.to, errorOf(move)).inc();
      refunds.inc(moves.filter(({ to }) => to === "FAILED").length);
    },
  };
}

function errorOf(move: Move): string {
  return "error" in move ? move.error.code : "";
}
