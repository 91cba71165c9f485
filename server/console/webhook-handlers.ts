import type { Clock, Database } from "#platform";
import type { ConsoleHandlers } from "./console-call.ts";
import type { Pager } from "./paging.ts";

export type WebhookDeps = { db: Database; clock: Clock; pager: Pager; webhooks: undefined };

/** Not wired yet. */
export function webhookHandlers(_deps: WebhookDeps) {
  const later = ({ problem }: { problem: (code: "UNAVAILABLE") => Error }) =>
    Promise.reject(problem("UNAVAILABLE"));
  return {
    listDeliveries: later,
    readDelivery: later,
    replayDelivery: later,
    startReplay: later,
    readReplay: later,
    cancelReplay: later,
    listWebhookHosts: later,
    sendTestEvent: later,
  } satisfies Partial<ConsoleHandlers>;
}
