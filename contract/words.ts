/**
 * The words of the contract without its schemas. Most rooms need no more, and a command that loaded
 * the schemas would start slower.
 */
export { deliveryErrors, errors } from "./errors.ts";

export const statuses = ["QUEUED", "SENT", "DELIVERED", "UNDELIVERED", "FAILED"] as const;
export type Status = (typeof statuses)[number];
/** The statuses that a webhook reports. QUEUED is reported by the answer to the send. */
export type ToldStatus = Exclude<Status, "QUEUED">;

/** The event of a change to each status. */
export const eventNames = {
  QUEUED: "message.queued",
  SENT: "message.sent",
  DELIVERED: "message.delivered",
  UNDELIVERED: "message.undelivered",
  FAILED: "message.failed",
} as const satisfies Record<Status, string>;
export type EventName = (typeof eventNames)[Status];
/** An event that webhooks report. */
export type ToldEvent = (typeof eventNames)[ToldStatus];

export const scopes = ["messages:send", "messages:read"] as const;
export type Scope = (typeof scopes)[number];

/** A member's roles in an account. Each may do whatever the ones before it may. */
export const memberRoles = ["viewer", "developer", "owner"] as const;
export type MemberRole = (typeof memberRoles)[number];

export const carrierKinds = ["simulator", "smpp"] as const;
export type CarrierKind = (typeof carrierKinds)[number];

/** How a link is bound to its carrier. */
export const linkBinds = ["transmitter", "receiver", "transceiver", "simulator"] as const;
export const linkStates = [
  "starting",
  "binding",
  "bound",
  "throttled",
  "connection_lost",
  "refused",
  "stopped",
] as const;

/** The length of a password in characters, after NFKC. */
export const PASSWORD_LENGTH = { min: 12, max: 128 } as const;
