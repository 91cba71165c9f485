import { leaseLeftBehind } from "#messages";
import type { Clock, Database, Log } from "#platform";
import { readDue, readSegments } from "./due-send.ts";
import { handOver, type HandOverDeps, type Taker } from "./hand-over.ts";

type Deps = Pick<HandOverDeps, "recorder" | "routing"> & {
  db: Database;
  clock: Clock;
  log: Log;
  nodeId: string;
};

const PAGE = 100;
/** Long enough for a carrier that is up to take it up itself. */
const LEFT_MS = 60_000;

/**
 * What a dead node held for a carrier that takes nothing: removed, paused, or away. Only a carrier's
 * own run takes up a lease that ran out, so these would stay QUEUED and charged as long as it is so.
 * When their validity is over they end here as they would there: the doubt is noted, then EXPIRED.
 */
export async function endLeftBehind(deps: Deps): Promise<number> {
  const { db, clock, log, nodeId } = deps;
  const nowMs = clock.monotonicMs();
  const rows = await leaseLeftBehind(db, { nodeId, afterMs: LEFT_MS, limit: PAGE });
  const claims = rows.map((row) => ({ ...row, was_leased: true }));
  for (const [carrierId, ofCarrier] of Map.groupBy(claims, ({ carrier_id }) => carrier_id)) {
    const handOverDeps = {
      ...deps,
      carrier: nobody(carrierId),
      isLeaseFresh: () => false,
      readSegments: (messageId: string) => readSegments(db, clock, { messageId, carrierId }),
    };
    for (const due of await readDue(db, ofCarrier, { carrierId, nowMs })) {
      log.warn(
        { messageId: due.message.message_id },
        "a message that a lost node held for a carrier that takes nothing has expired",
      );
      await handOver(handOverDeps, due, new AbortController().signal);
    }
  }
  return claims.length;
}

/** In the place of a carrier: nothing may be submitted to it. */
function nobody(carrierId: string): Taker {
  return {
    carrierId,
    name: "nobody",
    inDoubt: "resend",
    wholeMessages: false,
    submit: () => Promise.reject(new Error("What is left behind is never submitted.")),
  };
}
