import type { EventName } from "#contract";
import { type Signable, signatureHeaders } from "./sign.ts";

export type WebhookRequest = Signable & {
  event: EventName;
  /** The number of this POST of the event, from 1, replays included. */
  attempt: number;
  /** The status change's number within its message; QUEUED is 1. */
  sequence: number;
  /** Marks an event that belongs to no message. */
  isTest?: boolean;
};

/** Every header of a webhook except those that HTTP itself needs. */
export function webhookHeaders(request: WebhookRequest, version: string): Record<string, string> {
  return { ...eventHeaders(request, version), ...signatureHeaders(request) };
}

/** The headers that anybody could forge: receivers must not rely on them alone. */
export function eventHeaders(
  { event, attempt, sequence, isTest }: Omit<WebhookRequest, keyof Signable>,
  version: string,
): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "User-Agent": `Posthorn/${version}`,
    // The answer is never decompressed: 10 kB of it could become 10 MB.
    "Accept-Encoding": "identity",
    "X-SMS-Event": event,
    "X-SMS-Attempt": String(attempt),
    "X-SMS-Sequence": String(sequence),
    ...(isTest === true ? { "X-SMS-Test": "true" } : {}),
  };
}
