import type { DeliveryErrorCode, ToldStatus } from "#contract";
import { eventNames } from "#contract/words";
import { isoTime } from "#platform";
import { presentError } from "./message-row.ts";

/** Why a message was not delivered. */
export type DeliveryFault = { code: DeliveryErrorCode; carrierCode: string | null };

type Changed = { messageId: string; recipient: string; at: Date };

/** A change of status that a webhook reports. */
export type StatusChange = Changed &
  ({ status: "SENT" | "DELIVERED" } | { status: "UNDELIVERED" | "FAILED"; error: DeliveryFault });

/** Leaves the error out if the status has none. */
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
 * The body of a webhook. It is made once, and these bytes are stored, signed and sent on every
 * attempt. They must never be parsed and serialized again, because the signature covers each byte.
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

/** Text of a carrier or receiver is not trusted: no control characters, at most 200 code points. */
export function foreignText(text: string): string {
  const start = text.slice(0, 4 * MAX_FOREIGN_TEXT).replaceAll(/\p{Cc}/gu, "");
  return Array.from(start).slice(0, MAX_FOREIGN_TEXT).join("");
}
