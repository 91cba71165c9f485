import {
  carriersWaitedFor,
  findMessagesOf,
  findStranded,
  reassign,
  type Routing,
  type Stranded,
} from "#messages";
import { type Clock, type Database, remembering, sql } from "#platform";
import { isUnfit } from "./due-send.ts";

/** After a carrier was away this long, what waits for it moves to the next of its route. */
const PATIENCE_MS = 5_000;
const REROUTE_PAGE = 500;
/** Pages per pass, once a second: bounds the cost of a long backlog that cannot move. */
const PAGES_PER_PASS = 10;
const MAX_CARRIERS = 1_000;

export type RerouteOptions = {
  /** Whether the operator paused it: what waits for it then keeps waiting. */
  isPaused: (carrierId: string) => boolean;
  /** Whether it can take messages on this node. */
  isUp: (carrierId: string) => boolean;
  /** Carriers that other nodes report as bound: this node may have no share of the binds. */
  upElsewhere: () => Promise<ReadonlySet<string>>;
  routing: () => Promise<Routing>;
  /** Called with messages that a lost node held. */
  noteLost: (lost: Stranded[]) => Promise<void>;
  /** Called with messages whose carrier was removed and has a part of them. */
  endBegun: (begun: Stranded[]) => Promise<void>;
  clock: Clock;
};

/**
 * Moves what waits for an absent carrier to the next available one of its route. A pass looks at a
 * few pages per carrier and the next pass continues there: what cannot move delays nothing else.
 */
export function rerouting(db: Database, options: RerouteOptions): () => Promise<void> {
  const reached = new Map<string, Stranded | undefined>();
  /** How long each was missed lately: grows while messages wait in vain, shrinks otherwise. */
  const missedMs = new Map<string, number>();
  let lastPassMs = 0;
  return async function pass() {
    const nowMs = options.clock.monotonicMs();
    const passedMs = nowMs - lastPassMs;
    lastPassMs = nowMs;
    const waited = await carriersWaitedFor(db);
    const isAway = (carrierId: string) => !options.isPaused(carrierId) && !options.isUp(carrierId);
    const away = new Set(waited.filter(isAway));
    const elsewhere = away.size === 0 ? new Set<string>() : await options.upElsewhere();
    for (const [carrierId, ms] of missedMs) {
      if (isAway(carrierId) && !elsewhere.has(carrierId)) continue;
      if (ms > passedMs) missedMs.set(carrierId, ms - passedMs);
      else missedMs.delete(carrierId);
    }
    const removed = await findRemoved(db, away);
    const isUp = (carrierId: string) =>
      options.isUp(carrierId) || (elsewhere.has(carrierId) && !options.isPaused(carrierId));
    for (const from of away) {
      const isRemoved = removed.has(from);
      if (elsewhere.has(from) && !isRemoved) continue;
      const before = missedMs.get(from);
      const ms = before === undefined ? 0 : Math.min(PATIENCE_MS, before + passedMs);
      missedMs.set(from, ms);
      // A message's own wait does not count: it may be for its turn, and the carrier soon be back.
      if (ms < PATIENCE_MS && !isRemoved) continue;
      const place = { from, isRemoved, after: reached.get(from) };
      reached.set(from, await reroutePages(db, { ...options, isUp }, place));
    }
  };
}

type Place = { from: string; isRemoved: boolean; after: Stranded | undefined };

/** Returns where the next pass goes on; undefined after the last page. */
async function reroutePages(
  db: Database,
  options: RerouteOptions,
  { from, isRemoved, after }: Place,
): Promise<Stranded | undefined> {
  let last = after;
  for (let page = 0; page < PAGES_PER_PASS; page += 1) {
    const stranded = await findStranded(db, {
      carrierId: from,
      after: last,
      limit: REROUTE_PAGE,
    });
    const lost = stranded.filter(({ is_lost }) => is_lost);
    // After this they wait again, and the next pass finds them.
    if (lost.length > 0) await options.noteLost(lost);
    await rerouteFrom(db, options, {
      from,
      isRemoved,
      stranded: stranded.filter(({ is_lost }) => !is_lost),
    });
    if (stranded.length < REROUTE_PAGE) return undefined;
    last = stranded.at(-1);
  }
  return last;
}

async function rerouteFrom(
  db: Database,
  { isUp, routing, endBegun }: RerouteOptions,
  { from, isRemoved, stranded }: { from: string; isRemoved: boolean; stranded: Stranded[] },
): Promise<void> {
  const { carriersFor } = await routing();
  // Asked once a page: for a carrier with many binds it takes longer than moving a message.
  const takesMessages = remembering(MAX_CARRIERS, isUp);
  const messages = await findMessagesOf(db, stranded);
  const again = stranded.filter(({ attempt }) => attempt > 0);
  const known = await readKnown(
    db,
    from,
    again.map(({ message_id }) => message_id),
  );
  const moves = stranded.flatMap(({ message_id: messageId, lease_epoch: epoch }) => {
    const route = carriersFor(messages.get(messageId)?.recipient ?? "") ?? [];
    const { isBegun = false, isDoubted = false, unfit = [] } = known.get(messageId) ?? {};
    const mayComeBack = route.includes(from);
    // While `from` may take it, skip carriers that cannot hold it. Later, one may end it.
    const isFit = (carrierId: string) => !mayComeBack || !unfit.includes(carrierId);
    const to = route.find(
      (carrierId) => carrierId !== from && takesMessages(carrierId) && isFit(carrierId),
    );
    const stays = isBegun || (isDoubted && mayComeBack);
    return to === undefined || stays ? [] : [{ messageId, epoch, to }];
  });
  if (moves.length > 0) await reassign(db, moves);
  const begun = again.filter(({ message_id }) => known.get(message_id)?.isBegun);
  if (isRemoved && begun.length > 0) await endBegun(begun);
}

/** Those that never come back. Other nodes' reports on them may still be fresh. */
async function findRemoved(
  db: Database,
  carrierIds: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (carrierIds.size === 0) return carrierIds;
  const rows = await db.query<{ carrier_id: string }>(sql`
    select carrier_id from carriers where carrier_id = any (${[...carrierIds]}::uuid[]) and removed_at is not null`);
  return new Set(rows.map(({ carrier_id }) => carrier_id));
}

type Known = {
  /** Whether a carrier has a segment of it: then it stays with that carrier. */
  isBegun: boolean;
  /** Whether the absent carrier may have it: then it stays while that carrier is in its route. */
  isDoubted: boolean;
  /** Carriers whose alphabet cannot hold it. */
  unfit: string[];
};

async function readKnown(
  db: Database,
  from: string,
  messageIds: string[],
): Promise<Map<string, Known>> {
  if (messageIds.length === 0) return new Map();
  const rows = await db.query<Known & { messageId: string }>(sql`
    select message_id as "messageId", bool_or(outcome is not distinct from 'accepted') as "isBegun",
           bool_or(in_doubt_at is not null and carrier_id = ${from}) as "isDoubted",
           coalesce(array_agg(carrier_id) filter (where ${isUnfit}), '{}') as unfit
      from submissions
     where message_id = any (${messageIds}::uuid[])
     group by message_id`);
  return new Map(rows.map(({ messageId, ...known }) => [messageId, known]));
}
