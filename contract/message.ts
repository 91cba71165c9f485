import { type Static, Type } from "typebox";
import { deliveryErrors, type DeliveryErrorCode } from "./errors.ts";
import { nullable, oneOf, Time } from "./schema.ts";
import { eventNames, statuses } from "./words.ts";

export const DeliveryCode = oneOf(Object.keys(deliveryErrors) as DeliveryErrorCode[]);

export const DeliveryError = Type.Object(
  {
    code: DeliveryCode,
    message: Type.String(),
    carrierCode: nullable(Type.String()),
  },
  { title: "DeliveryError" },
);

export const MESSAGE_EXAMPLE = {
  messageId: "019a85c2-5b00-7abc-8def-0123456789a0",
  recipient: "4915112345678",
  sender: "Posthorn",
  text: "Hello from Posthorn",
  status: "QUEUED",
  encoding: "gsm7",
  segments: 1,
  credits: 1,
  creditsRefunded: 0,
  reference: null,
  metadata: null,
  callbackUrl: null,
  error: null,
  createdAt: "2026-11-15T09:30:00.123Z",
  sendAt: null,
  expiresAt: "2026-11-16T09:30:00.123Z",
  sentAt: null,
  deliveredAt: null,
  updatedAt: "2026-11-15T09:30:00.123Z",
};

export const PREVIEW_EXAMPLE = {
  recipient: "4915112345678",
  country: "DE",
  encoding: "gsm7",
  segments: 1,
  credits: 1,
  balance: 1000,
  nonGsmCharacters: [],
};

export const Message = Type.Object(
  {
    messageId: Type.String({ format: "uuid" }),
    recipient: Type.String(),
    sender: nullable(Type.String()),
    text: Type.String(),
    status: oneOf(statuses),
    encoding: oneOf(["gsm7", "ucs2"]),
    segments: Type.Integer(),
    credits: Type.Integer({ description: "Credits charged." }),
    creditsRefunded: Type.Integer({ description: "0, or credits." }),
    reference: nullable(Type.String()),
    metadata: nullable(
      Type.Unsafe<Record<string, string>>({
        type: "object",
        additionalProperties: { type: "string" },
      }),
    ),
    callbackUrl: nullable(Type.String()),
    error: nullable(DeliveryError),
    createdAt: Time,
    sendAt: nullable(Time),
    expiresAt: Time,
    sentAt: nullable(Time),
    deliveredAt: nullable(Time),
    updatedAt: Time,
  },
  { title: "Message", examples: [MESSAGE_EXAMPLE] },
);
export type Message = Static<typeof Message>;

const WebhookAttempt = Type.Object({
  attempt: Type.Integer(),
  at: Time,
  durationMs: Type.Integer(),
  httpStatus: nullable(Type.Integer()),
  error: nullable(Type.String()),
});

const WebhookState = oneOf(["pending", "delivered", "exhausted", "gone", "forbidden"]);
export type WebhookState = Static<typeof WebhookState>;

const StatusEntry = Type.Object({
  type: Type.Literal("status"),
  at: Time,
  sequence: Type.Integer({ description: "QUEUED is 1." }),
  event: oneOf(Object.values(eventNames)),
  status: oneOf(statuses),
  error: nullable(DeliveryError),
  webhook: nullable(
    Type.Object({
      eventId: Type.String(),
      state: WebhookState,
      attempts: Type.Array(WebhookAttempt),
    }),
  ),
});

const SubmissionOutcome = oneOf(["accepted", "refused_temporarily", "refused", "unsent"]);
export type SubmissionOutcome = Static<typeof SubmissionOutcome>;

const SubmissionEntry = Type.Object({
  type: Type.Literal("submission"),
  at: Time,
  carrier: Type.String(),
  segment: Type.Integer(),
  outcome: SubmissionOutcome,
  carrierMessageId: nullable(Type.String()),
  carrierCode: nullable(Type.String()),
});

const DoubtEntry = Type.Object({
  type: Type.Literal("doubt"),
  at: Time,
  carrier: Type.String(),
  segment: Type.Integer(),
  reason: Type.String(),
  action: oneOf(["resend", "fail"]),
});

const ReceiptEntry = Type.Object({
  type: Type.Literal("receipt"),
  at: Time,
  carrier: Type.String(),
  segment: Type.Integer(),
  state: Type.String({ description: "The carrier's word, such as DELIVRD." }),
  carrierCode: nullable(Type.String()),
  applied: Type.Boolean({ description: "False if it changed nothing." }),
});

const HistoryEntry = Type.Union([StatusEntry, SubmissionEntry, DoubtEntry, ReceiptEntry]);
export type HistoryEntry = Static<typeof HistoryEntry>;

export const MessageHistory = Type.Object(
  { data: Type.Array(HistoryEntry) },
  {
    title: "MessageHistory",
    examples: [
      {
        data: [
          {
            type: "status",
            at: "2026-11-15T09:30:00.123Z",
            sequence: 1,
            event: "message.queued",
            status: "QUEUED",
            error: null,
            webhook: null,
          },
        ],
      },
    ],
  },
);
