import { type Static, Type } from "typebox";
import {
  ACCOUNT,
  consoleOperation,
  IDEMPOTENCY,
  inAccount,
  isMore,
  pageOf,
  paging,
} from "./console-operation.ts";
import { AnyTime, closed, Id, nullable, oneOf, sought, Time } from "./schema.ts";
import { eventNames } from "./words.ts";

/** Waiting: no attempt yet. Retrying: some failed, more will follow. The others are final. */
const deliveryStates = [
  "waiting",
  "retrying",
  "delivered",
  "exhausted",
  "gone",
  "forbidden",
] as const;

const { QUEUED: _untold, ...told } = eventNames;
const Event = oneOf(Object.values(told));
const HeaderList = Type.Array(Type.Object({ name: Type.String(), value: Type.String() }));

const delivery = {
  deliveryId: Id,
  eventId: Type.String({
    description: "The `webhook-id` header: the same on attempts and replays.",
  }),
  messageId: Id,
  event: Event,
  sequence: Type.Integer(),
  url: Type.String(),
  host: Type.String({
    description: "Scheme, host and port of the URL, as in the list of receivers.",
  }),
  state: oneOf(deliveryStates),
  attempts: Type.Integer(),
  maxAttempts: Type.Integer(),
  createdAt: Time,
  nextAttemptAt: nullable(Time),
  isPaused: Type.Boolean({
    description: "Whether it waits for a receiver that is only probed at this moment.",
  }),
  lastAttemptAt: nullable(Time),
  lastHttpStatus: nullable(Type.Integer()),
  lastError: nullable(
    Type.String({ description: "In words, such as: The receiver answered 500." }),
  ),
  durationMs: nullable(Type.Integer({ description: "Of the last attempt." })),
  replayId: nullable(Id),
  isReplayable: Type.Boolean(),
};

export const WebhookDelivery = Type.Object(delivery);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

const Timings = Type.Object({
  dnsMs: nullable(Type.Integer()),
  connectMs: nullable(Type.Integer()),
  tlsMs: nullable(Type.Integer()),
  firstByteMs: nullable(Type.Integer()),
  totalMs: Type.Integer(),
});

/** What one POST sent and received. Signatures are not kept, so the headers lack them. */
const Exchange = Type.Object({
  attempt: Type.Integer(),
  at: Time,
  requestHeaders: HeaderList,
  address: nullable(Type.String({ description: "The address really called." })),
  httpStatus: nullable(Type.Integer()),
  responseHeaders: HeaderList,
  responseBody: nullable(Type.String({ description: "At most 2 KiB, as plain text." })),
  timings: Timings,
  errorClass: nullable(
    Type.String({ description: "Such as timeout, connect_refused, tls_failed, http_500." }),
  ),
  error: nullable(Type.String({ description: "The same in words." })),
});
export type Exchange = Static<typeof Exchange>;

const Replay = Type.Object({
  replayId: nullable(Type.String({ description: "Null where `dryRun` only counted." })),
  state: oneOf(["counted", "running", "done", "canceled"]),
  total: Type.Integer({
    description: "What is unknown, too old or being tried at that moment is left out.",
  }),
  waiting: Type.Integer(),
  delivered: Type.Integer(),
  failed: Type.Integer(),
  createdAt: nullable(Time),
});

const WebhookHost = Type.Object({
  host: Type.String({ description: "Scheme, host and port." }),
  health: oneOf(["proven", "unproven", "failing", "slow", "open"]),
  succeeded: Type.Integer({ description: "Attempts of the last 24 hours." }),
  failed: Type.Integer(),
  p95Ms: nullable(Type.Integer()),
  waiting: Type.Integer(),
  isMore,
  lastSuccessAt: nullable(Time),
});

export const webhookOperations = {
  listDeliveries: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/webhook-deliveries`,
    summary: "List webhook deliveries, newest first",
    access: "viewer",
    params: inAccount(),
    query: closed({
      ...paging,
      state: Type.Optional(Type.Array(oneOf(deliveryStates), { description: "Repeatable." })),
      event: Type.Optional(Type.Array(Event, { description: "Repeatable." })),
      host: Type.Optional(sought(300)),
      messageId: Type.Optional(Id),
      httpStatus: Type.Optional(Type.Integer({ minimum: 100, maximum: 999 })),
      createdAfter: Type.Optional(AnyTime),
      createdBefore: Type.Optional(AnyTime),
    }),
    success: { status: 200, body: pageOf(WebhookDelivery) },
    errors: ["CURSOR_INVALID"],
  }),
  readDelivery: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/webhook-deliveries/{deliveryId}`,
    summary: "Read a webhook delivery with its body and every attempt",
    access: "viewer",
    params: inAccount("deliveryId"),
    success: {
      status: 200,
      body: Type.Object({
        ...delivery,
        body: nullable(Type.String({ description: "The exact body; null for a viewer." })),
        exchanges: Type.Array(Exchange),
      }),
    },
    errors: ["DELIVERY_NOT_FOUND"],
  }),
  replayDelivery: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/webhook-deliveries/{deliveryId}/replay`,
    summary: "Deliver it once more: same id, same bytes, new attempt",
    access: "developer",
    audit: "webhook.replayed",
    headers: IDEMPOTENCY,
    params: inAccount("deliveryId"),
    success: { status: 202, body: WebhookDelivery },
    errors: [
      "DELIVERY_NOT_FOUND",
      "DELIVERY_NOT_REPLAYABLE",
      "DELIVERY_IN_FLIGHT",
      "IDEMPOTENCY_KEY_INVALID",
      "IDEMPOTENCY_KEY_REUSED",
    ],
  }),
  startReplay: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/replays`,
    summary: "Replay several deliveries, or with `dryRun` count them; at most 10,000",
    access: "developer",
    audit: "webhook.replayed",
    headers: IDEMPOTENCY,
    params: inAccount(),
    body: closed(
      {
        deliveryIds: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 100 })),
        exhaustedSince: Type.Optional(AnyTime),
        dryRun: Type.Optional(Type.Boolean()),
      },
      { examples: [{ exhaustedSince: "2026-11-15T00:00:00.000Z", dryRun: true }] },
    ),
    success: { status: 202, body: Replay },
    errors: ["IDEMPOTENCY_KEY_INVALID", "IDEMPOTENCY_KEY_REUSED"],
  }),
  readReplay: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/replays/{replayId}`,
    summary: "Read how far a replay is",
    access: "viewer",
    params: inAccount("replayId"),
    success: { status: 200, body: Replay },
    errors: ["REPLAY_NOT_FOUND"],
  }),
  cancelReplay: consoleOperation({
    method: "DELETE",
    path: `${ACCOUNT}/replays/{replayId}`,
    summary: "Stop a replay: what has not begun is left out",
    access: "developer",
    audit: "webhook.replay_canceled",
    params: inAccount("replayId"),
    success: { status: 200, body: Replay },
    errors: ["REPLAY_NOT_FOUND"],
  }),
  listWebhookHosts: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/webhook-hosts`,
    summary: "List receivers with their health",
    access: "viewer",
    params: inAccount(),
    success: {
      status: 200,
      body: Type.Object({ data: Type.Array(WebhookHost) }),
    },
  }),
  sendTestEvent: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/webhook-tests`,
    summary: "Post a signed test event to an address and show the answer",
    access: "developer",
    audit: "webhook.tested",
    params: inAccount(),
    body: closed(
      {
        url: Type.String({ maxLength: 2048, "x-code": "CALLBACK_URL_INVALID" }),
        event: Type.Optional(Event),
      },
      { examples: [{ url: "https://shop.example.com/sms", event: "message.delivered" }] },
    ),
    success: {
      status: 200,
      body: Type.Object({ isDelivered: Type.Boolean(), body: Type.String(), exchange: Exchange }),
    },
  }),
};
