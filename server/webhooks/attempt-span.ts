import type { Tracer } from "#platform";
import type { ClaimedDelivery } from "./deliveries.ts";
import { isSuccess, outcomeClass } from "./outcome.ts";
import type { Attempt } from "./post.ts";

/** An attempt as a step in its message's trace. The address stays out: it may hold secrets. */
export function attemptSpan(
  { attempt: number, sequence, status }: ClaimedDelivery,
  { outcome, status: answered, timings }: Attempt,
  endedAt: Date,
): Parameters<Tracer["step"]>[1] {
  return {
    name: "webhook attempt",
    kind: "client",
    startedAt: new Date(endedAt.getTime() - Math.round(timings.totalMs)),
    endedAt,
    attributes: {
      "posthorn.event_sequence": sequence,
      "posthorn.status": status,
      "posthorn.attempt": number,
      "posthorn.outcome": outcomeClass(outcome) ?? "delivered",
      "http.response.status_code": answered,
    },
    isFailed: !isSuccess(outcome),
  };
}
