/**
 * Webhooks: telling receivers what became of a message. The octets of an event, its signatures, the
 * guard over where they may go, the POST itself, the schedule of retries, and the lanes that keep one
 * receiver from delaying another.
 * Never changes a message: what is told was decided and written elsewhere.
 */
export { connectBudgets, type Egress } from "./egress/connect.ts";
export { type FailureClass, failureClasses } from "./egress/failure.ts";
export { type CallbackUrl, judgeUrl, type Refusal, type UrlVerdict } from "./egress/judge-url.ts";
export {
  type EgressPolicy,
  egressPolicy,
  type EgressSettings,
  servicePolicy,
} from "./egress/policy.ts";
export { type Resolve, systemResolve } from "./egress/resolve.ts";
export { trust } from "./egress/trust.ts";
export { type WebhookRequest, webhookHeaders } from "./headers.ts";
export type { LaneReport, Place } from "./lane.ts";
export type { Health } from "./lane-health.ts";
export {
  type EndedAttempt,
  type Grant,
  type Kind,
  laneKeeper,
  type Lanes,
  type WantedLane,
} from "./lanes.ts";
export { isSuccess, type Outcome, outcomeClass } from "./outcome.ts";
export {
  type Attempt,
  type Post,
  poster,
  type Poster,
  type PosterOptions,
  type Timings,
} from "./post.ts";
export { type Ended, isTooOldToWait, MAX_ATTEMPTS, type NextStep, nextStep } from "./schedule.ts";
export { type DeliveryLoop, deliveryLoop } from "./delivery-loop.ts";
export { webhookHistory } from "./history.ts";
export { countWaiting, measureBacklog } from "./waiting.ts";
export { attemptInWords, headersOfAttempt } from "./attempt-words.ts";
export {
  browseDeliveries,
  type BrowsedDeliveries,
  type DeliveryFilter,
  NO_DELIVERY_FILTER,
} from "./browse-deliveries.ts";
export {
  type BulkReplayWish,
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
  type DeliveryDetail,
  type DeliveryRow,
  type DeliveryState,
  findDelivery,
} from "./describe-deliveries.ts";
export { type FollowedEvent, followEvents, type FollowWish } from "./follow.ts";
export { type Forwarded, type Forwarder, forwarder } from "./forward.ts";
export { type HostRow, listHosts } from "./hosts.ts";
export {
  countSelected,
  isReplayable,
  replayDelivery,
  type Replayed,
  replaySelected,
  type ReplayWish,
} from "./replay.ts";
export { observeWebhooks } from "./observe.ts";
export { keepAttempts, sweepFollowed } from "./retention.ts";
export { sendTestEvent, type TestedEvent, type TestWish } from "./test-event.ts";
