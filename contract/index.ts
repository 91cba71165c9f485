/**
 * The contract: the API as data. Operations, schemas, scopes, events and errors stand here once;
 * routes, validation, types, OpenAPI, the SDK and the docs are made from it. Imports nothing of ours.
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
