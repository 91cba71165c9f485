import type { ConsoleHandlers } from "./console-call.ts";
import type { streamHub } from "./stream-hub.ts";

/** The streams of an account and of the operator. */
export function streamHandlers(hub: ReturnType<typeof streamHub>) {
  return {
    streamAccount: ({ account: { accountId, role }, person: { userId, sessionId } }) =>
      hub.open({ userId, sessionId, accountId, role }),
    streamOperator: ({ person: { userId, sessionId } }) =>
      hub.open({ userId, sessionId, accountId: null, role: null }),
  } satisfies Partial<ConsoleHandlers>;
}
