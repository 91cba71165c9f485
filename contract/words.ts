/**
 * The words of the contract without its schemas, and all that most rooms need of it: whoever types a
 * command would wait for the schemas to load.
 */
export { deliveryErrors, errors } from "./errors.ts";

export const statuses = ["QUEUED", "SENT", "DELIVERED", "UNDELIVERED", "FAILED"] as const;
export type Status = (typeof statuses)[number];
/** Those that a webhook tells of: QUEUED is told by the answer to the send. */
export type ToldStatus = Exclude<Status, "QUEUED">;

/** The event that a change to each status makes. */
export const eventNames = {
  QUEUED: "message.queued",
  SENT: "message.sent",
  DELIVERED: "message.delivered",
  UNDELIVERED: "message.undelivered",
  FAILED: "message.failed",
} as const satisfies Record<Status, string>;
export type EventName = (typeof eventNames)[Status];
/** An event that webhooks tell. */
export type ToldEvent = (typeof eventNames)[ToldStatus];

export const scopes = ["messages:send", "messages:read"] as const;
export type Scope = (typeof scopes)[number];

/** What a member may do in an account; each role may do what the ones before it may. */
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

/** Characters a password may have, after NFKC. */
export const PASSWORD_LENGTH = { min: 12, max: 128 } as const;
