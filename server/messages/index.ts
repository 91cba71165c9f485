/**
 * Messages: accepting them, reading them, and every change of their status. The send queue belongs
 * here because leaving the queue and changing the status must be one transaction. This room never
 * talks to a carrier or receiver: the rooms that do ask it what is due and report back.
 */
export { acceptor, type Intake } from "./acceptor.ts";
export { type BrowseFilter, browseMessages, NO_MESSAGE_FILTER } from "./browse.ts";
export { concatReferences } from "./concat-reference.ts";
export { messageHandlers, readFilter } from "./handlers.ts";
export { fingerprint, isIdempotencyKey, sweepIdempotency } from "./idempotency.ts";
export { eventId, newMessageId, parseEventId } from "./message-id.ts";
export { type MessageRow, present } from "./message-row.ts";
export { messageOfMove, type Move, moveMessages } from "./move.ts";
export type { BornDelivery, MoveListener, WebhookIntake } from "./move-listener.ts";
export { countedMoves } from "./move-metrics.ts";
export { type EventKey, type EventRow, eventTime, findEventBodies, findEvents } from "./events.ts";
export { keepPartitions, makePartitions } from "./partitions.ts";
export { redactTexts } from "./redaction.ts";
export { expireMessages } from "./expire-messages.ts";
export { findMessage, findMessagesOf, type LockedMessage, lockMessagesOf } from "./read.ts";
export {
  DEFAULT_PRICE,
  loadRouting,
  lockRouting,
  longestPrefix,
  type Routing,
  type RoutingTable,
  routingTable,
  routingVersion,
} from "./routing.ts";
export {
  findQueuedFor,
  findStranded,
  leaseOverdue,
  leaseStranded,
  reassign,
  renewLeases,
  type Stranded,
} from "./send-queue.ts";
export {
  listPrices,
  listRoutes,
  removePrice,
  removeRoute,
  type Route,
  setPrice,
  setRoute,
  takeOutOfRoutes,
} from "./routing-changes.ts";
export { carriersWaitedFor, measureCarrierQueues, measureQueue } from "./queue-depth.ts";
export { judgeRecipient } from "./recipient.ts";
export { sendRefinements } from "./refine-sends.ts";
export { sendMessages } from "./send.ts";
export { tracedAccept } from "./trace-accept.ts";
export { changeTo, eventBody, foreignText } from "./event-body.ts";
export { accountOf, hostKeyOf, lanesOf } from "./host-key.ts";
