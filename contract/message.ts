import { type Static, Type } from "typebox";
import { deliveryErrors, type DeliveryErrorCode } from "./errors.ts";
import { nullable, Time } from "./schema.ts";
import { type EventName, eventNames, type Status, statuses } from "./words.ts";

export const DeliveryError = Type.Object(
  {
    code: Type.Unsafe<DeliveryErrorCode>({ type: "string", enum: Object.keys(deliveryErrors) }),
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
    status: Type.Unsafe<Status>({ type: "string", enum: [...statuses] }),
    encoding: Type.Unsafe<"gsm7" | "ucs2">({ type: "string", enum: ["gsm7", "ucs2"] }),
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

const StatusEntry = Type.Object({
  type: Type.Literal("status"),
  at: Time,
  sequence: Type.Integer({ description: "QUEUED is 1." }),
  event: Type.Unsafe<EventName>({ type: "string", enum: Object.values(eventNames) }),
  status: Type.Unsafe<Status>({ type: "string", enum: [...statuses] }),
  error: nullable(DeliveryError),
  webhook: nullable(
    Type.Object({
      eventId: Type.String(),
      state: Type.Unsafe<WebhookState>({
        type: "string",
        enum: ["pending", "delivered", "exhausted", "gone", "forbidden"],
      }),
      attempts: Type.Array(WebhookAttempt),
    }),
  ),
});
export type WebhookState = "pending" | "delivered" | "exhausted" | "gone" | "forbidden";

const SubmissionEntry = Type.Object({
  type: Type.Literal("submission"),
  at: Time,
  carrier: Type.String(),
  segment: Type.Integer(),
  outcome: Type.Unsafe<SubmissionOutcome>({
    type: "string",
    enum: ["accepted", "refused_temporarily", "refused", "unsent"],
  }),
  carrierMessageId: nullable(Type.String()),
  carrierCode: nullable(Type.String()),
});
export type SubmissionOutcome = "accepted" | "refused_temporarily" | "refused" | "unsent";

const DoubtEntry = Type.Object({
  type: Type.Literal("doubt"),
  at: Time,
  carrier: Type.String(),
  segment: Type.Integer(),
  reason: Type.String(),
  action: Type.Unsafe<"resend" | "fail">({ type: "string", enum: ["resend", "fail"] }),
});

const ReceiptEntry = Type.Object({
  type: Type.Literal("receipt"),
  at: Time,
  carrier: Type.String(),
  segment: Type.Integer(),
  state: Type.String({ description: "The carrier's word, such as DELIVRD." }),
  carrierCode: nullable(Type.String()),
  applied: Type.Boolean({ description: "False where it changed nothing." }),
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
