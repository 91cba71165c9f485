import { signingNow } from "#accounts";
import { eventNames } from "#contract/words";
import { eventId } from "#messages";
import { type Clock } from "#platform";
import type { ClaimedDelivery } from "./deliveries.ts";
import { webhookHeaders } from "./headers.ts";
import type { Post } from "./post.ts";

/**
 * The database's time at the claim, carried forward by a clock that nobody can set, since nodes may
 * disagree about the time. The lease clock would follow a clock that is set ahead.
 */
export function databaseNow(
  { claimedAt, claimedHere }: Pick<ClaimedDelivery, "claimedAt" | "claimedHere">,
  clock: Pick<Clock, "monotonicMs">,
): Date {
  return new Date(claimedAt.getTime() + clock.monotonicMs() - claimedHere.monotonicMs);
}

/** The POST of a delivery: the stored bytes, signed for this attempt with the live secrets. */
export function requestOf(delivery: ClaimedDelivery, now: Date, version: string): Post {
  const { hostKey, url, body, messageId, sequence, attempt, status } = delivery;
  const headers = webhookHeaders(
    {
      eventId: eventId(messageId, sequence),
      timestampSeconds: Math.floor(now.getTime() / 1000),
      body,
      // It may have waited for a slot since the claim.
      secrets: signingNow(delivery.secrets, now),
      event: eventNames[status],
      attempt,
      sequence,
    },
    version,
  );
  return { hostKey, url, headers, body };
}
