import { accountOperations } from "./console-accounts.ts";
import { carrierOperations } from "./console-carriers.ts";
import { creditOperations } from "./console-credits.ts";
import { keyOperations } from "./console-keys.ts";
import { consoleMessageOperations } from "./console-messages.ts";
import type { ConsoleOperation, consoleEverywhere } from "./console-operation.ts";
import { routingOperations } from "./console-routing.ts";
import { secretOperations } from "./console-secret.ts";
import { signInOperations } from "./console-sign-in.ts";
import { statsOperations } from "./console-stats.ts";
import { teamOperations } from "./console-team.ts";
import { userOperations } from "./console-user.ts";
import { watchingOperations } from "./console-watching.ts";
import { webhookOperations } from "./console-webhooks.ts";
import type { ErrorCode } from "./errors.ts";

export type { LedgerEntry } from "./console-credits.ts";
export { type ApiKey, EXPIRES_SOON_DAYS } from "./console-keys.ts";
export type { ConsoleMessage } from "./console-messages.ts";
export {
  type Access,
  type Actor,
  consoleEverywhere,
  type ConsoleOperation,
} from "./console-operation.ts";
export type { OperatorAccount } from "./console-accounts.ts";
export type { Carrier } from "./console-carriers.ts";
export type { AuditEntry } from "./console-watching.ts";
export type { Session } from "./console-sign-in.ts";
export { type Alert, ranges } from "./console-stats.ts";
export type {
  Account,
  Invitation,
  Member,
  OperatorStreamEvent,
  StreamEvent,
} from "./console-team.ts";
export type { Me } from "./console-user.ts";
export type { Exchange, WebhookDelivery } from "./console-webhooks.ts";

/** Everything that a signed-in user can do, by name. None of it is part of `/v1`. */
export const consoleOperations = {
  ...signInOperations,
  ...userOperations,
  ...keyOperations,
  ...consoleMessageOperations,
  ...webhookOperations,
  ...secretOperations,
  ...creditOperations,
  ...statsOperations,
  ...teamOperations,
  ...accountOperations,
  ...carrierOperations,
  ...routingOperations,
  ...watchingOperations,
};

export type ConsoleOperations = typeof consoleOperations;
export type ConsoleOperationName = keyof ConsoleOperations;

export type ConsoleErrors<O extends ConsoleOperation> =
  | (O extends { errors: readonly ErrorCode[] } ? O["errors"][number] : never)
  | (typeof consoleEverywhere)[number];

/**
 * The same operations by `METHOD path`, as types only. A client that calls by method and path is
 * fully typed, and ships none of the schemas.
 */
export type ConsoleRoutes = {
  [
    Name in ConsoleOperationName as `${ConsoleOperations[Name]["method"]} ${ConsoleOperations[Name]["path"]}`
  ]: ConsoleOperations[Name];
};
