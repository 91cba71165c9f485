import {
  carriersWaitedFor,
  findMessagesOf,
  findStranded,
  reassign,
  type Routing,
  type Stranded,
} from "#messages";
import { type Clock, type Database, sql } from "#platform";

/** A carrier may be away this long before what waits for it goes to the next of its route; from then on, at once. */
const PATIENCE_MS = 5_000;
const REROUTE_PAGE = 500;
/** Looked at in a pass, a second apart: bounds what a long backlog that cannot move costs. */
const PAGES_PER_PASS = 10;

export type RerouteWish = {
  /** Whether the operator has paused it: what waits for it then goes on waiting. */
  isPaused: (carrierId: string) => boolean;
  /** Whether it can take messages on this node. */
  isUp: (carrierId: string) => boolean;
  /** Those that other nodes say they are bound to: this one may have no share of the binds. */
  upElsewhere: () => Promise<ReadonlySet<string>>;
  routing: () => Promise<Routing>;
  clock: Clock;
};

/**
 * What waits for a carrier that is away goes to the next of its route that is not. A pass looks at so
 * many pages of each carrier, and the next one goes on from there: what cannot move holds up nobody.
 */
export function rerouting(db: Database, wish: RerouteWish): () => Promise<number> {
  const reached = new Map<string, Stranded | undefined>();
  /** Since when something was seen to wait in vain, until the carrier is there again. */
  const awaySinceMs = new Map<string, number>();
  return async function pass() {
    const waited = await carriersWaitedFor(db);
    const isAway = (carrierId: string) => !wish.isPaused(carrierId) && !wish.isUp(carrierId);
    forget(awaySinceMs, (carrierId) => !isAway(carrierId));
    const away = new Set(waited.filter(isAway));
    if (away.size === 0) return 0;
    const elsewhere = await wish.upElsewhere();
    forget(awaySinceMs, (carrierId) => elsewhere.has(carrierId));
    const isUp = (carrierId: string) =>
      wish.isUp(carrierId) || (elsewhere.has(carrierId) && !wish.isPaused(carrierId));
    const nowMs = wish.clock.monotonicMs();
    for (const from of away.difference(elsewhere)) {
      const sinceMs = awaySinceMs.get(from) ?? nowMs;
      awaySinceMs.set(from, sinceMs);
      const waitedMs = Math.max(0, PATIENCE_MS - (nowMs - sinceMs));
      const place = { from, waitedMs, after: reached.get(from) };
      reached.set(from, await reroutePages(db, { ...wish, isUp }, place));
    }
    return 0;
  };
}

function forget(since: Map<string, number>, isOver: (carrierId: string) => boolean): void {
  for (const carrierId of since.keys()) if (isOver(carrierId)) since.delete(carrierId);
}

type Place = { from: string; waitedMs: number; after: Stranded | undefined };

/** Answers where to go on; undefined after the last page. */
async function reroutePages(
  db: Database,
  wish: RerouteWish,
  { from, waitedMs, after }: Place,
): Promise<Stranded | undefined> {
  let last = after;
  for (let page = 0; page < PAGES_PER_PASS; page += 1) {
    const stranded = await findStranded(db, {
      carrierId: from,
      afterMs: waitedMs,
      after: last,
      limit: REROUTE_PAGE,
    });
    await rerouteFrom(db, wish, { from, stranded });
    if (stranded.length < REROUTE_PAGE) return undefined;
    last = stranded.at(-1);
  }
  return last;
}

async function rerouteFrom(
  db: Database,
  { isUp, routing }: RerouteWish,
  { from, stranded }: { from: string; stranded: Stranded[] },
): Promise<void> {
  const { carriersFor } = await routing();
  const messages = await findMessagesOf(db, stranded);
  const begun = await findBegun(
    db,
    stranded.filter(({ attempt }) => attempt > 0).map(({ message_id }) => message_id),
  );
  const moves = stranded.flatMap(({ message_id: messageId, lease_epoch: epoch }) => {
    const route = carriersFor(messages.get(messageId)?.recipient ?? "") ?? [];
    const to = route.find((carrierId) => carrierId !== from && isUp(carrierId));
    return to === undefined || begun.has(messageId) ? [] : [{ messageId, epoch, from, to }];
  });
  if (moves.length > 0) await reassign(db, moves);
}

/** Messages of which a carrier has a segment: they stay with it. */
async function findBegun(db: Database, messageIds: string[]): Promise<Set<string>> {
  if (messageIds.length === 0) return new Set();
  const rows = await db.query<{ message_id: string }>(sql`
    select distinct message_id
      from submissions
     where message_id = any (${messageIds}::uuid[]) and (outcome = 'accepted' or in_doubt_at is not null)`);
  return new Set(rows.map(({ message_id }) => message_id));
}
