/**
 * Webhooks: telling receivers what became of a message. Covers an event's signatures, the guard
 * over where it may go, the POST itself, the schedule of retries, and the lanes that keep one
 * receiver from delaying another. Never changes a message: messages/ decided and wrote what is
 * sent, byte for byte.
 */
export { judgeUrl } from "./egress/judge-url.ts";
export { allowances, servicePolicy } from "./egress/policy.ts";
export { systemEgress } from "./egress/system-egress.ts";
export { laneKeeper } from "./lanes.ts";
export { outcomeClass } from "./outcome.ts";
export { servicePoster } from "./service-poster.ts";
export { MAX_ATTEMPTS } from "./schedule.ts";
export { deliveryLoop } from "./delivery-loop.ts";
export { webhookHistory } from "./history.ts";
export { countWaiting, measureBacklog } from "./waiting.ts";
export { attemptInWords, headersOfAttempt } from "./attempt-words.ts";
export { browseDeliveries, type DeliveryFilter, NO_DELIVERY_FILTER } from "./browse-deliveries.ts";
export {
  cancelReplay,
  continueReplays,
  countExhausted,
  findReplay,
  finishReplay,
  MAX_REPLAYED,
  type ReplayProgress,
  startBulkReplay,
} from "./bulk-replay.ts";
export {
  type AttemptRow,
  type DeliveryRow,
  type DeliveryState,
  findDelivery,
} from "./describe-deliveries.ts";
export { type FollowedEvent, followEvents } from "./follow.ts";
export { type Forwarded, forwarder } from "./forward.ts";
export { listFailingHosts, listHosts } from "./hosts.ts";
export { countSelected, isReplayable, replayDelivery, replaySelected } from "./replay.ts";
export { observeWebhooks } from "./observe.ts";
export { keepAttemptDays, keepAttempts, sweepFollowed } from "./retention.ts";
export { sendTestEvent, type TestedEvent } from "./test-event.ts";
export { hasTried } from "./tried.ts";
