import type { WebhookDelivery } from "#contract";
import { useRelativeNow } from "../../clock.ts";
import { formatRelative } from "../../format.ts";
import { webhooksText as text } from "../../text/webhooks.ts";

type Delivery = Pick<WebhookDelivery, "state" | "nextAttemptAt">;

/** When the next attempt comes, such as "in 5 minutes"; undefined where none does. */
export function useNextAttempt(delivery: Delivery): string | undefined {
  return nextAttemptOf(delivery, useRelativeNow());
}

export function nextAttemptOf({ state, nextAttemptAt }: Delivery, now: number): string | undefined {
  if (state !== "retrying" && state !== "waiting") return undefined;
  if (nextAttemptAt === null) return text.isUnderWay;
  return Date.parse(nextAttemptAt) <= now ? text.isDue : formatRelative(nextAttemptAt, now);
}
