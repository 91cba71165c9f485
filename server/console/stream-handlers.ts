import type { ConsoleHandlers } from "./console-call.ts";
import type { streamHub } from "./stream-hub.ts";

/** The streams of an account and of the operator. */
export function streamHandlers(hub: ReturnType<typeof streamHub>) {
  return {
    streamAccount: ({ account: { accountId, role }, person: { sessionId } }) =>
      hub.open({ sessionId, accountId, role }),
    streamOperator: ({ person: { sessionId } }) =>
      hub.open({ sessionId, accountId: null, role: null }),
  } satisfies Partial<ConsoleHandlers>;
}
