import { type Static, Type } from "typebox";
import { ACCOUNT, consoleOperation, inAccount } from "./console-operation.ts";
import { DeliveryCode } from "./message.ts";
import { AnyTime, closed, nullable, oneOf, Time } from "./schema.ts";

export const ranges = ["15m", "1h", "24h", "7d", "30d", "custom"] as const;

const query = closed({
  range: Type.Optional(oneOf(ranges)),
  from: Type.Optional(AnyTime),
  to: Type.Optional(AnyTime),
  zone: Type.Optional(
    Type.String({ maxLength: 64, description: "IANA name; days begin at its midnight. UTC." }),
  ),
});

/** The time range of the numbers, and the width of a bucket. A day may have 23 or 25 hours. */
const Span = Type.Object({
  from: Time,
  to: Time,
  zone: Type.String(),
  bucket: oneOf(["minute", "quarter", "hour", "day"]),
});

const count = Type.Integer();
/** A named constant, because inferring its type in place takes the compiler seconds. */
const countOrNone = nullable(count);

const Numbers = Type.Object({
  messages: count,
  delivered: count,
  final: count,
  p50Ms: countOrNone,
  p95Ms: countOrNone,
  creditsUsed: count,
});

const Alert = Type.Object({
  kind: oneOf([
    "credits_low",
    "credits_gone",
    "key_expiring",
    "receiver_failing",
    "deliveries_exhausted",
    "carrier_down",
  ]),
  subject: nullable(Type.String({ description: "Name of the key, receiver or carrier." })),
  subjectId: nullable(Type.String()),
  count: nullable(Type.Integer()),
  at: nullable(Time),
});
export type Alert = Static<typeof Alert>;

const buckets = <P extends Record<string, typeof count | typeof countOrNone>>(properties: P) =>
  Type.Object({
    span: Span,
    buckets: Type.Array(Type.Object({ start: Time, end: Time, ...properties })),
  });

const stats = <const Name extends string>(name: Name, says: string) =>
  ({
    method: "GET",
    path: `${ACCOUNT}/stats/${name}`,
    summary: says,
    access: "viewer",
    params: inAccount(),
    query,
  }) as const;

export const statsOperations = {
  readSummary: consoleOperation({
    ...stats(
      "summary",
      "The four numbers, with those of the span before, and what needs attention",
    ),
    success: {
      status: 200,
      body: Type.Object({
        span: Span,
        now: Numbers,
        before: Numbers,
        balance: Type.Integer(),
        daysLeft: nullable(Type.Integer()),
        alerts: Type.Array(Alert),
      }),
    },
  }),
  readStatuses: consoleOperation({
    ...stats("statuses", "Messages by status and time of acceptance"),
    success: {
      status: 200,
      body: buckets({
        QUEUED: count,
        SENT: count,
        DELIVERED: count,
        UNDELIVERED: count,
        FAILED: count,
      }),
    },
  }),
  readLatency: consoleOperation({
    ...stats("latency", "Time from acceptance to delivery, within 5 %"),
    success: {
      status: 200,
      body: buckets({ count, p50Ms: countOrNone, p95Ms: countOrNone }),
    },
  }),
  readCreditsUse: consoleOperation({
    ...stats("credits", "Credits charged and refunded, by time of the message's acceptance"),
    success: {
      status: 200,
      body: buckets({ charged: count, refunded: count }),
    },
  }),
  readErrors: consoleOperation({
    ...stats("errors", "Delivery error codes, most frequent first"),
    success: {
      status: 200,
      body: Type.Object({
        span: Span,
        data: Type.Array(
          Type.Object({
            code: DeliveryCode,
            count,
          }),
        ),
      }),
    },
  }),
  readWebhookHealth: consoleOperation({
    ...stats("webhooks", "How webhook deliveries fare"),
    success: {
      status: 200,
      body: Type.Object({
        span: Span,
        delivered: count,
        exhausted: count,
        waiting: count,
        retrying: count,
        failedAttempts: count,
      }),
    },
  }),
  readProgress: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/progress`,
    summary: "The steps to a first message, for the walk",
    access: "viewer",
    params: inAccount(),
    success: {
      status: 200,
      body: Type.Object({
        hasKey: Type.Boolean(),
        hasMessage: Type.Boolean(),
        hasDelivered: Type.Boolean(),
        hasWebhook: Type.Boolean({
          description:
            "A webhook or a test event was delivered to some address, or an event to whoever listened.",
        }),
        hasInvited: Type.Boolean({ description: "There is another member, or an invitation." }),
      }),
    },
  }),
};
