import { type Clock, type Database, type Log, sql } from "#platform";
import { type Claim, readDue, readSegments } from "./due-send.ts";
import { handOver, type HandOverDeps, type Taker } from "./hand-over.ts";

type Deps = Pick<HandOverDeps, "recorder" | "routing"> & {
  db: Database;
  clock: Clock;
  log: Log;
  nodeId: string;
  leaseMs: number;
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
  const { db, clock, log } = deps;
  const nowMs = clock.monotonicMs();
  const claims = await claimLeftBehind(deps);
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

function claimLeftBehind({ db, nodeId, leaseMs }: Deps) {
  return db.query<Claim & { carrier_id: string }>(sql`
    update send_queue q
       set leased_by = ${nodeId}, lease_epoch = q.lease_epoch + 1, attempt = q.attempt + 1,
           due_at = statement_timestamp() + make_interval(secs => ${leaseMs / 1000})
      from (select message_id
              from send_queue
             where expires_at <= statement_timestamp() and leased_by is not null
               and due_at <= statement_timestamp() - make_interval(secs => ${LEFT_MS / 1000})
             order by expires_at
             limit ${PAGE}
               for update skip locked) l
     where q.message_id = l.message_id
    returning q.message_id, q.account_id, q.carrier_id, q.lease_epoch, q.attempt, true as was_leased`);
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
