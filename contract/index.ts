/**
 * The contract: the API as data. Operations, schemas, scopes, events and errors are defined once,
 * here. Routes, validation, types, OpenAPI, the SDK and the docs derive from it. Imports no room.
 */
export * from "./console.ts";
export {
  apiErrors,
  type DeliveryErrorCode,
  type Detail,
  type DetailCode,
  detailCodes,
  type ErrorCode,
} from "./errors.ts";
export {
  type HistoryEntry,
  Message,
  type SubmissionOutcome,
  type WebhookState,
} from "./message.ts";
export { NewBatch, NewMessage, operations } from "./messages.ts";
export { openApi, VERSIONING } from "./openapi.ts";
export {
  type BodyOf,
  type ErrorsOf,
  everywhere,
  type Operation,
  type ParamsOf,
  type QueryOf,
  type SuccessOf,
} from "./operation.ts";
export { webhookBodies, webhookHeaderMeanings } from "./webhook.ts";
export * from "./words.ts";
