import { carrierChecks } from "./check-carrier.ts";
import { creditChecks } from "./check-credits.ts";
import { requestChecks } from "./check-requests.ts";
import { statusChecks } from "./check-statuses.ts";
import { webhookChecks } from "./check-webhooks.ts";
import type { History } from "./history.ts";
import type { State } from "./state.ts";

/** An outside observation that breaks a promise; `check` is its name in the list of promises. */
export type Violation = { check: string; what: string } & Record<string, unknown>;

export type Check = (history: History, state: State) => Violation[];

const checks: readonly Check[] = [
  ...requestChecks,
  ...creditChecks,
  ...statusChecks,
  ...carrierChecks,
  ...webhookChecks,
];

/** Compares what clients, operators, the carrier and the receiver saw with the database. */
export function checkHistory(history: History, state: State): Violation[] {
  return checks.flatMap((check) => check(history, state));
}
