import type { Answer } from "../../api.ts";
import type { ReceiverHealth } from "../../text/webhooks.ts";

export type Receiver = Answer<"GET /console/accounts/{accountId}/webhook-hosts">["data"][number];

const HEALTHY_FROM = 0.95;
const FAILING_BELOW = 0.5;

/**
 * A receiver's health over one day. The limiter of calls knows only the last few, and little after
 * a start; but if it says that those fail, the receiver is failing, whatever the day was like.
 */
export function healthOf({
  succeeded,
  failed,
  health,
}: Pick<Receiver, "succeeded" | "failed" | "health">): ReceiverHealth {
  const all = succeeded + failed;
  if (all === 0) return "idle";
  if (succeeded === 0) return "down";
  const rate = succeeded / all;
  if (rate < FAILING_BELOW || health === "failing" || health === "open") return "failing";
  return rate < HEALTHY_FROM ? "unsteady" : "healthy";
}
