import type { WebhookDelivery } from "#contract";
import { useRelativeNow } from "../../clock.ts";
import { formatRelative } from "../../format.ts";
import { webhooksText as text } from "../../text/webhooks.ts";

type Delivery = Pick<WebhookDelivery, "state" | "nextAttemptAt" | "isPaused">;

/** An attempt closer than this counts as due; a future one must never read "just now". */
const SOON_MS = 1_000;

/** When the next attempt comes, such as "in 5 minutes", or what it waits for; else undefined. */
export function useNextAttempt(delivery: Delivery): string | undefined {
  return nextAttemptOf(delivery, useRelativeNow());
}

export function nextAttemptOf(delivery: Delivery, now: number): string | undefined {
  const { state, nextAttemptAt, isPaused } = delivery;
  if (state !== "retrying" && state !== "waiting") return undefined;
  if (nextAttemptAt === null) return text.isUnderWay;
  if (Date.parse(nextAttemptAt) > now + SOON_MS) return formatRelative(nextAttemptAt, now);
  return isPaused ? text.isPaused : text.isDue;
}
