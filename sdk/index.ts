/**
 * The TypeScript client: sends and reads messages, and verifies webhooks. Needs only Node 20 or
 * newer; its types are generated from the contract. Never imports the server.
 */
export {
  type ListFilters,
  type MessageList,
  Posthorn,
  type SendMessage,
  type SendOptions,
} from "./client.ts";
export { type ConnectionCode, type ErrorDetail, PosthornError } from "./error.ts";
export type {
  Credits,
  DeliveredEvent,
  DeliveryError,
  DetailCode,
  ErrorCode,
  EventName,
  FailedEvent,
  HistoryEntry,
  Message,
  MessagePage,
  NewMessage,
  Preview,
  SentEvent,
  Status,
  UndeliveredEvent,
} from "./model.ts";
export type { CallOptions, PosthornOptions } from "./transport.ts";
export {
  type RawBody,
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./webhook.ts";
