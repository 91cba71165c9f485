import type { DeliveryErrorCode, ToldStatus } from "#contract";
import { eventNames } from "#contract/words";
import { isoTime } from "#platform";
import { presentError } from "./message-row.ts";

/** Why a message did not arrive. */
export type DeliveryFault = { code: DeliveryErrorCode; carrierCode: string | null };

type Changed = { messageId: string; recipient: string; at: Date };

/** A change of status that is told to a receiver. */
export type StatusChange = Changed &
  ({ status: "SENT" | "DELIVERED" } | { status: "UNDELIVERED" | "FAILED"; error: DeliveryFault });

/** The error is left out where the status has none. */
export function changeTo(
  status: ToldStatus,
  { error, ...changed }: Changed & { error: DeliveryFault },
): StatusChange {
  const hasError = status === "UNDELIVERED" || status === "FAILED";
  return hasError ? { ...changed, status, error } : { ...changed, status };
}

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

function tellError({ code, carrierCode }: DeliveryFault) {
  return presentError(code, carrierCode && foreignText(carrierCode));
}

const MAX_FOREIGN_TEXT = 200;

/** What a carrier or a receiver wrote is data from outside: no control characters, at most 200 code points. */
export function foreignText(text: string): string {
  const start = text.slice(0, 4 * MAX_FOREIGN_TEXT).replaceAll(/\p{Cc}/gu, "");
  return Array.from(start).slice(0, MAX_FOREIGN_TEXT).join("");
}
