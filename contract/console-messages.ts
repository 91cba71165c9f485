import { type Static, Type } from "typebox";
import {
  ACCOUNT,
  consoleOperation,
  IDEMPOTENCY,
  inAccount,
  pageOf,
  paging,
} from "./console-operation.ts";
import { DeliveryCode, Message } from "./message.ts";
import { NewMessage, operations, SoughtRecipient } from "./messages.ts";
import { AnyTime, closed, Id, nullable, oneOf, sought } from "./schema.ts";
import { carrierKinds, statuses } from "./words.ts";

const CarrierName = Type.Object({
  carrierId: Id,
  name: Type.String(),
  kind: oneOf(carrierKinds),
});

/** All that members learn about a carrier's state, and only while their message waits for it. */
const WaitsFor = Type.Object({
  carrier: Type.String(),
  away: nullable(
    oneOf(["down", "paused"], { description: "Why it takes no messages now; null where it does." }),
  ),
});

/** A message as the role may see it: a viewer sees only the last four digits, and no text. */
const ShownMessage = Type.Object({
  ...Message.properties,
  text: nullable(Type.String({ description: "Null for a viewer." })),
});

export const ConsoleMessage = Type.Object({
  message: ShownMessage,
  version: Type.Integer({ description: "Number of its last status change." }),
  isMasked: Type.Boolean({ description: "Whether recipient and text are withheld." }),
  key: nullable(Type.Object({ keyId: Id, name: Type.String() })),
  carrier: nullable(CarrierName),
  isSubmitted: Type.Boolean({
    description:
      "Whether that carrier was handed any of it; else it is the one it waits for, or where its route led.",
  }),
  waitsFor: nullable(WaitsFor),
});
export type ConsoleMessage = Static<typeof ConsoleMessage>;

const filters = {
  status: Type.Optional(Type.Array(oneOf(statuses), { description: "Repeatable." })),
  errorCode: Type.Optional(Type.Array(DeliveryCode, { description: "Repeatable." })),
  keyId: Type.Optional(
    Type.String({
      pattern: "^(console|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
      description: "A key's id, or `console` for what people sent without a key.",
    }),
  ),
  sender: Type.Optional(sought(20)),
  /** Refused for viewers, because they must not guess numbers. */
  recipient: Type.Optional(SoughtRecipient),
  reference: Type.Optional(sought(128)),
  createdAfter: Type.Optional(AnyTime),
  createdBefore: Type.Optional(AnyTime),
};

/** Names the carrier, so that the compose page knows whether the simulator's endings apply. */
const ConsolePreview = Type.Object({
  ...operations.previewMessage.success.body.properties,
  carrier: nullable(CarrierName),
});

export const consoleMessageOperations = {
  browseMessages: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/messages`,
    summary:
      "List messages, newest first; a filtered page may be short, or empty, and still have a next one",
    access: "viewer",
    params: inAccount(),
    query: closed({ ...paging, ...filters }),
    success: { status: 200, body: pageOf(ConsoleMessage) },
    errors: ["CURSOR_INVALID"],
  }),
  exportMessages: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/messages.csv`,
    summary: "The same messages as CSV, all pages, at most 100,000 rows",
    access: "viewer",
    params: inAccount(),
    query: closed(filters),
    success: { status: 200, body: Type.String(), type: "text/csv" },
  }),
  composeMessage: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/messages`,
    summary: "Send a message, by the handler of POST /v1/messages",
    access: "developer",
    audit: "message.sent",
    headers: IDEMPOTENCY,
    params: inAccount(),
    body: NewMessage,
    success: { status: 202, body: Message },
    errors: [...operations.sendMessage.errors, "QUEUE_FULL"],
  }),
  previewConsoleMessage: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/messages/preview`,
    summary: "Price a message without sending it, by the handler of POST /v1/messages/preview",
    access: "developer",
    params: inAccount(),
    body: NewMessage,
    success: { status: 200, body: ConsolePreview },
    errors: [...operations.previewMessage.errors, "QUEUE_FULL"],
  }),
  readMessage: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/messages/{messageId}`,
    summary: "Read a message",
    access: "viewer",
    params: inAccount("messageId"),
    success: { status: 200, body: ConsoleMessage },
    errors: ["MESSAGE_NOT_FOUND"],
  }),
  readMessageEvents: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/messages/{messageId}/events`,
    summary: "Read the history of a message, by the handler of GET /v1/messages/{messageId}/events",
    access: "viewer",
    params: inAccount("messageId"),
    success: { status: 200, body: operations.listMessageEvents.success.body },
    errors: ["MESSAGE_NOT_FOUND"],
  }),
  cancelConsoleMessage: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/messages/{messageId}/cancel`,
    summary: "Cancel a message that waits, by the handler of POST /v1/messages/{messageId}/cancel",
    access: "developer",
    audit: "message.canceled",
    params: inAccount("messageId"),
    success: { status: 200, body: Message },
    errors: operations.cancelMessage.errors,
  }),
};
