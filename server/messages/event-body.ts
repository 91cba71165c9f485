import type { DeliveryErrorCode } from "#contract";
import { eventNames } from "#contract/words";
import { isoTime } from "#platform";

/** What a message's `error` says. */
export type EventError = { code: DeliveryErrorCode; message: string; carrierCode: string | null };

/** A change of status that is told to a receiver; QUEUED is not, the 202 has told it. */
export type StatusChange = { messageId: string; recipient: string; at: Date } & (
  | { status: "SENT" | "DELIVERED" }
  | { status: "UNDELIVERED" | "FAILED"; error: EventError }
);

const timeFields = {
  SENT: "sentAt",
  DELIVERED: "deliveredAt",
  UNDELIVERED: "undeliveredAt",
  FAILED: "failedAt",
} as const;

/**
 * The body of a webhook, made once: these octets are stored, signed and sent on every attempt.
 * Nobody may parse and write them again, because a receiver's signature covers each octet.
 */
export function eventBody(change: StatusChange): Buffer {
  const { messageId, recipient, status, at } = change;
  const event = eventNames[status];
  const told = { event, messageId, recipient, status, [timeFields[status]]: isoTime(at) };
  const body = "error" in change ? { ...told, error: tellError(change.error) } : told;
  return Buffer.from(JSON.stringify(body));
}

function tellError({ code, message, carrierCode }: EventError): EventError {
  return { code, message, carrierCode: carrierCode === null ? null : foreignText(carrierCode) };
}

const MAX_FOREIGN_TEXT = 200;

/** What a carrier or a receiver wrote is data from outside: no control characters, at most 200 code points. */
export function foreignText(text: string): string {
  const start = text.slice(0, 4 * MAX_FOREIGN_TEXT).replaceAll(/\p{Cc}/gu, "");
  return Array.from(start).slice(0, MAX_FOREIGN_TEXT).join("");
}
