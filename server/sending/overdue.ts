import { leaseOverdue } from "#messages";
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
 * Messages that were taken up and whose validity is over while their carrier takes nothing: it was
 * removed, is paused or away, and only its own run would take them up again. They end here as they
 * would there: SENT where the carrier has all of them after all, EXPIRED otherwise, with the doubt noted
 * that a lost node left.
 */
export async function endOverdue(deps: Deps): Promise<number> {
  const { db, clock, log, nodeId } = deps;
  const nowMs = clock.leaseMs();
  const request = { nodeId, now: clock.now(), afterMs: LEFT_MS, limit: PAGE };
  const claims = await leaseOverdue(db, request);
  for (const [carrierId, ofCarrier] of Map.groupBy(claims, ({ carrier_id }) => carrier_id)) {
    const handOverDeps = {
      ...deps,
      carrier: nobody(carrierId),
      isLeaseFresh: () => false,
      answeredLate: new Set<string>(),
      readSegments: (messageId: string) => readSegments(db, clock, { messageId, carrierId }),
    };
    const dues = await readDue(db, ofCarrier, { carrierId, nowMs });
    await Promise.all(dues.map((due) => handOver(handOverDeps, due, new AbortController().signal)));
    log.warn(
      { messages: dues.length, carrierId },
      "messages for a carrier that takes nothing are past their validity, and end",
    );
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
    submit: () => Promise.reject(new Error("What is past its validity is never submitted.")),
  };
}
