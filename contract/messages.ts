import { type Static, type TSchema, Type } from "typebox";
import { operation } from "./operation.ts";
import { MESSAGE_EXAMPLE, Message, MessageHistory, PREVIEW_EXAMPLE } from "./message.ts";
import { AnyTime, closed, nullable, oneOf, sought } from "./schema.ts";
import { statuses } from "./words.ts";

/** A field that may be left out or null, and the detail code for anything wrong with it. */
function optional<T extends TSchema>(schema: T, code: string) {
  return Type.Optional(nullable<T>({ ...schema, "x-code": code }));
}

const recipientField = Type.String({
  description:
    "The number in E.164 format: 7 to 15 digits without the plus. A leading + is accepted and removed.",
  examples: ["4915112345678"],
  "x-code": "RECIPIENT_INVALID",
});

export const NewMessage = closed(
  {
    recipient: recipientField,
    text: Type.String({
      description: "What to send: at most 10 segments, never truncated.",
      "x-code": "TEXT_INVALID",
    }),
    sender: optional(
      Type.String({
        description:
          "E.164 digits, a short code of 3 to 8 digits, or 1 to 11 letters, digits, space, - _ . & with at least one letter. If left out, the account's default, else the carrier's.",
      }),
      "SENDER_INVALID",
    ),
    callbackUrl: optional(
      Type.String({
        maxLength: 2048,
        description: "Receives a signed webhook on every change of status.",
      }),
      "CALLBACK_URL_INVALID",
    ),
    reference: optional(
      Type.String({
        maxLength: 128,
        description: "Your own id; can be filtered by, need not be unique.",
      }),
      "REFERENCE_INVALID",
    ),
    metadata: optional(
      Type.Unsafe<Record<string, string>>({
        type: "object",
        additionalProperties: { type: "string" },
        maxProperties: 20,
        description:
          "At most 20 string values, 2 KB in total; returned to you, never sent to the recipient.",
      }),
      "METADATA_INVALID",
    ),
    encoding: optional(
      oneOf(["auto", "gsm7", "ucs2"], {
        description:
          "auto uses GSM 03.38 if the text fits, else UCS-2; gsm7 refuses a text that does not fit.",
      }),
      "ENCODING_INVALID",
    ),
    maxCredits: optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "Refuse the message if it costs more than this.",
      }),
      "MAX_CREDITS_INVALID",
    ),
    sendAt: optional(
      Type.String({
        description:
          "Send at this time, at most 35 days ahead; ISO 8601 with a time zone. Charged on acceptance.",
        examples: ["2026-12-24T18:00:00.000Z"],
      }),
      "SEND_AT_INVALID",
    ),
    validitySeconds: optional(
      Type.Integer({
        minimum: 60,
        maximum: 259_200,
        description:
          "A message not handed over within this time (from sendAt, else from acceptance) becomes FAILED with EXPIRED. Default 86400.",
      }),
      "VALIDITY_SECONDS_INVALID",
    ),
  },
  {
    title: "NewMessage",
    examples: [{ recipient: "4915112345678", text: "Hello from Posthorn" }],
  },
);
export type NewMessage = Static<typeof NewMessage>;

export const NewBatch = closed(
  { messages: Type.Array(NewMessage, { minItems: 1, maxItems: 1000 }) },
  {
    title: "NewBatch",
    examples: [{ messages: [{ recipient: "4915112345678", text: "Hello" }] }],
  },
);

const Preview = closed(
  {
    recipient: Type.String(),
    country: nullable(
      Type.String({
        description: "ISO 3166 alpha-2, or null for numbers that belong to no country.",
      }),
    ),
    encoding: oneOf(["gsm7", "ucs2"]),
    segments: Type.Integer(),
    credits: Type.Integer(),
    balance: Type.Integer(),
    nonGsmCharacters: Type.Array(
      closed({
        character: Type.String(),
        position: Type.Integer({ description: "Index of its first UTF-16 code unit in the text." }),
      }),
    ),
  },
  { title: "Preview", examples: [PREVIEW_EXAMPLE] },
);

const MessageId = closed({ messageId: Type.String({ description: "Identifier of the message." }) });

/** A phone number to search for. */
export const SoughtRecipient = Type.String({
  // In a query, a plus that is not percent-encoded arrives as a space.
  pattern: "^[+ ]?[0-9]{7,15}$",
  description: "7 to 15 digits, with or without a leading plus.",
});

const ListQuery = closed({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
  cursor: Type.Optional(Type.String({ description: "`nextCursor` of the previous page." })),
  status: Type.Optional(Type.Array(oneOf(statuses), { description: "Repeatable." })),
  recipient: Type.Optional(SoughtRecipient),
  reference: Type.Optional(sought(128)),
  createdAfter: Type.Optional(AnyTime),
  createdBefore: Type.Optional(AnyTime),
});

const IDEMPOTENCY = {
  "idempotency-key":
    "1 to 255 printable ASCII characters; kept for 24 hours per account. The body is validated before the key is compared: an invalid body gets its validation errors even if the key was used with another body before.",
};
const SEND_ERRORS = [
  "JSON_INVALID",
  "IDEMPOTENCY_KEY_INVALID",
  "CREDITS_INSUFFICIENT",
  "BODY_TOO_LARGE",
  "CONTENT_TYPE_UNSUPPORTED",
  "IDEMPOTENCY_KEY_REUSED",
  "VALIDATION_FAILED",
  "RECIPIENT_NOT_SERVED",
  "PRICE_ABOVE_LIMIT",
] as const;

/** Everything a client can do with an API key. */
export const operations = {
  sendMessage: operation({
    method: "POST",
    path: "/v1/messages",
    summary: "Send a message",
    description:
      "Charges the account and queues the message. The answer is sent after the message is stored.",
    scope: "messages:send",
    rate: "sends",
    headers: IDEMPOTENCY,
    body: NewMessage,
    success: { status: 202, body: Message, headers: ["Location", "Idempotency-Replayed"] },
    errors: SEND_ERRORS,
  }),
  sendBatch: operation({
    method: "POST",
    path: "/v1/messages/batch",
    summary: "Send many messages, all or none",
    description:
      "Accepts 1 to 1,000 messages together, or none of them. Each counts as one send; a batch larger than the whole burst allowance passes when that allowance is full, and leaves a debt that must be paid off before the next send.",
    scope: "messages:send",
    rate: "sends",
    headers: IDEMPOTENCY,
    body: NewBatch,
    success: {
      status: 202,
      body: Type.Object(
        { data: Type.Array(Message) },
        { title: "MessageBatch", examples: [{ data: [MESSAGE_EXAMPLE] }] },
      ),
      headers: ["Idempotency-Replayed"],
    },
    errors: SEND_ERRORS,
  }),
  previewMessage: operation({
    method: "POST",
    path: "/v1/messages/preview",
    summary: "Price a message without sending it",
    description:
      "Takes the same fields as a send and validates them in the same way. Nothing is stored or charged.",
    scope: "messages:send",
    rate: "reads",
    body: NewMessage,
    success: { status: 200, body: Preview },
    errors: [
      "JSON_INVALID",
      "BODY_TOO_LARGE",
      "CONTENT_TYPE_UNSUPPORTED",
      "VALIDATION_FAILED",
      "RECIPIENT_NOT_SERVED",
      "PRICE_ABOVE_LIMIT",
    ],
  }),
  listMessages: operation({
    method: "GET",
    path: "/v1/messages",
    summary: "List messages",
    description:
      "Newest first. Follow `nextCursor` until it is null; a page filtered by status may have fewer than `limit` messages even if more follow.",
    scope: "messages:read",
    rate: "reads",
    query: ListQuery,
    success: {
      status: 200,
      body: Type.Object(
        {
          data: Type.Array(Message),
          nextCursor: nullable(Type.String()),
        },
        { title: "MessagePage", examples: [{ data: [MESSAGE_EXAMPLE], nextCursor: null }] },
      ),
    },
    errors: ["CURSOR_INVALID", "VALIDATION_FAILED"],
  }),
  retrieveMessage: operation({
    method: "GET",
    path: "/v1/messages/{messageId}",
    summary: "Retrieve a message and its delivery status",
    scope: "messages:read",
    rate: "reads",
    params: MessageId,
    success: { status: 200, body: Message },
    errors: ["MESSAGE_NOT_FOUND"],
  }),
  listMessageEvents: operation({
    method: "GET",
    path: "/v1/messages/{messageId}/events",
    summary: "Read the history of a message",
    description:
      "Status changes with their webhooks, submissions, doubts and receipts, oldest first.",
    scope: "messages:read",
    rate: "reads",
    params: MessageId,
    success: { status: 200, body: MessageHistory },
    errors: ["MESSAGE_NOT_FOUND"],
  }),
  cancelMessage: operation({
    method: "POST",
    path: "/v1/messages/{messageId}/cancel",
    summary: "Cancel a waiting message",
    description:
      "Ends a message that is still QUEUED as FAILED with CANCELED, and refunds it. Repeating the request changes nothing.",
    scope: "messages:send",
    rate: "reads",
    params: MessageId,
    success: { status: 200, body: Message },
    errors: [
      "JSON_INVALID",
      "MESSAGE_NOT_FOUND",
      "MESSAGE_NOT_CANCELABLE",
      "BODY_TOO_LARGE",
      "CONTENT_TYPE_UNSUPPORTED",
    ],
  }),
  retrieveCredits: operation({
    method: "GET",
    path: "/v1/credits",
    summary: "Read the credit balance",
    scope: "messages:read",
    rate: "reads",
    success: {
      status: 200,
      body: closed(
        { balance: Type.Integer() },
        { title: "Credits", examples: [{ balance: 1000 }] },
      ),
    },
    errors: [],
  }),
};
