import type { EventName } from "#contract";
import { type Signable, signatureHeaders } from "./sign.ts";

export type WebhookRequest = Signable & {
  event: EventName;
  /** Counts every POST of this event, replays included, from 1. */
  attempt: number;
  /** The place of the status change among those of its message; QUEUED has 1. */
  sequence: number;
  /** Marks an event that belongs to no message. */
  isTest?: boolean;
};

/** Every header of a webhook but those that HTTP itself needs. */
export function webhookHeaders(request: WebhookRequest, version: string): Record<string, string> {
  return { ...eventHeaders(request, version), ...signatureHeaders(request) };
}

/** Those that anybody could write: receivers must not trust them alone. */
export function eventHeaders(
  { event, attempt, sequence, isTest }: Omit<WebhookRequest, keyof Signable>,
  version: string,
): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "User-Agent": `Posthorn/${version}`,
    // Whatever the answer is, it is never decompressed: 10 kB of it could become 10 MB.
    "Accept-Encoding": "identity",
    "X-SMS-Event": event,
    "X-SMS-Attempt": String(attempt),
    "X-SMS-Sequence": String(sequence),
    ...(isTest === true ? { "X-SMS-Test": "true" } : {}),
  };
}
