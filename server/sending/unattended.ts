import { leaseOverdue, leaseStranded, type MessageRow, type Stranded } from "#messages";
import type { Clock, Database, Log } from "#platform";
import { readDue, readSegments } from "./due-send.ts";
import { handOver, type HandOverDeps, type Taker } from "./hand-over.ts";

// Settles messages that were partly handed over, or whose node was lost, while their carrier takes
// nothing (removed, paused or away). Otherwise that carrier's run does it with its next claim.

type Deps = Pick<HandOverDeps, "recorder" | "routing" | "isPaused"> & {
  db: Database;
  clock: Clock;
  log: Log;
  nodeId: string;
  /** Once this node stops, the database is asked only once. */
  signal: AbortSignal;
  inDoubtOf: (carrierId: string) => Taker["inDoubt"];
};

const PAGE = 100;

const NO_ROUTE = { next: "fail", code: "NO_ROUTE", carrierCode: null } as const;

/**
 * Ends messages past their validity: SENT if the carrier has all of it after all, NO_ROUTE if no
 * carrier serves the recipient any more, otherwise EXPIRED. Notes the doubt that a lost node left.
 */
export async function endOverdue(deps: Deps): Promise<number> {
  const { db, clock, nodeId } = deps;
  // Read before the leases are taken: a failure after that leaves them leased.
  const { carriersFor } = await deps.routing();
  const claims = await leaseOverdue(db, { nodeId, now: clock.now(), limit: PAGE });
  await settle(
    deps,
    claims,
    "messages for a carrier that takes nothing are past their validity",
    ({ recipient }) => (carriersFor(recipient) ? undefined : NO_ROUTE),
  );
  return claims.length;
}

/** Notes the doubt that a lost node left. The message waits again, or ends if so configured. */
export async function noteLost(deps: Deps, lost: Stranded[]): Promise<void> {
  const claims = await leaseStranded(deps.db, deps.nodeId, lost);
  await settle(
    deps,
    claims,
    "messages for a carrier that takes nothing were in a lost node's hands",
  );
}

const CARRIER_GONE = { next: "fail", code: "CARRIER_UNAVAILABLE", carrierCode: null } as const;

/** Ends messages that a removed carrier has a part of: nobody can complete them. */
export async function endBegun(deps: Deps, begun: Stranded[]): Promise<void> {
  const claims = await leaseStranded(deps.db, deps.nodeId, begun);
  await settle(
    deps,
    claims,
    "messages ended whose carrier was removed amid them",
    () => CARRIER_GONE,
  );
}

async function settle(
  deps: Deps,
  claims: Awaited<ReturnType<typeof leaseOverdue>>,
  words: string,
  endingOf?: (message: MessageRow) => HandOverDeps["ending"],
): Promise<void> {
  const { db, clock, log } = deps;
  const nowMs = clock.leaseMs();
  for (const [carrierId, ofCarrier] of Map.groupBy(claims, ({ carrier_id }) => carrier_id)) {
    const handOverDeps = {
      ...deps,
      carrier: nobody(carrierId, deps.inDoubtOf(carrierId)),
      isLeaseFresh: () => false,
      answeredLate: new Set<string>(),
      readSegments: (messageId: string) => readSegments(db, deps, { messageId, carrierId }),
    };
    const dues = await readDue(db, ofCarrier, { carrierId, nowMs, patience: deps });
    await Promise.all(
      dues.map((due) => {
        const ending = endingOf?.(due.message);
        return handOver({ ...handOverDeps, ending }, due, deps.signal);
      }),
    );
    log.warn({ messages: dues.length, carrierId }, words);
  }
}

/** Stands in for a carrier to which nothing may be submitted. */
function nobody(carrierId: string, inDoubt: Taker["inDoubt"]): Taker {
  return {
    carrierId,
    name: "nobody",
    inDoubt,
    wholeMessages: false,
    submit: () => Promise.reject(new Error("What has no carrier is never submitted.")),
  };
}
