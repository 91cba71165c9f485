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

/** A carrier may be away this long before what waits for it goes to the next of its route; from then on, at once. */
const PATIENCE_MS = 5_000;
const REROUTE_PAGE = 500;
/** Looked at in a pass, a second apart: bounds what a long backlog that cannot move costs. */
const PAGES_PER_PASS = 10;
const MAX_CARRIERS = 1_000;

export type RerouteOptions = {
  /** Whether the operator has paused it: what waits for it then goes on waiting. */
  isPaused: (carrierId: string) => boolean;
  /** Whether it can take messages on this node. */
  isUp: (carrierId: string) => boolean;
  /** Those that other nodes say they are bound to: this one may have no share of the binds. */
  upElsewhere: () => Promise<ReadonlySet<string>>;
  routing: () => Promise<Routing>;
  /** These were in the hands of a node that is lost. */
  noteLost: (lost: Stranded[]) => Promise<void>;
  /** Their carrier was removed, and has a part of them. */
  endBegun: (begun: Stranded[]) => Promise<void>;
  clock: Clock;
};

/**
 * What waits for a carrier that is away goes to the next of its route that is not. A pass looks at so
 * many pages of each carrier, and the next one goes on from there: what cannot move holds up nobody.
 */
export function rerouting(db: Database, options: RerouteOptions): () => Promise<void> {
  const reached = new Map<string, Stranded | undefined>();
  /** How long each was missed of late: more while something waits for it in vain, less while it is there. */
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
    const isUp = (carrierId: string) =>
      options.isUp(carrierId) || (elsewhere.has(carrierId) && !options.isPaused(carrierId));
    for (const from of away.difference(elsewhere)) {
      const before = missedMs.get(from);
      const ms = before === undefined ? 0 : Math.min(PATIENCE_MS, before + passedMs);
      missedMs.set(from, ms);
      // However long something has waited: that may be for its turn, and the carrier be back in a moment.
      if (ms < PATIENCE_MS) continue;
      const place = { from, after: reached.get(from) };
      reached.set(from, await reroutePages(db, { ...options, isUp }, place));
    }
  };
}

type Place = { from: string; after: Stranded | undefined };

/** Answers where to go on; undefined after the last page. */
async function reroutePages(
  db: Database,
  options: RerouteOptions,
  { from, after }: Place,
): Promise<Stranded | undefined> {
  let last = after;
  for (let page = 0; page < PAGES_PER_PASS; page += 1) {
    const stranded = await findStranded(db, {
      carrierId: from,
      after: last,
      limit: REROUTE_PAGE,
    });
    const lost = stranded.filter(({ is_lost }) => is_lost);
    // They wait again after this, and are found by the next pass.
    if (lost.length > 0) await options.noteLost(lost);
    await rerouteFrom(db, options, {
      from,
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
  { from, stranded }: { from: string; stranded: Stranded[] },
): Promise<void> {
  const { carriersFor } = await routing();
  // Asked once a page: to tell how it is takes a carrier with many binds longer than moving a message.
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
    // As long as the one that is away may take it. After that, one that cannot ends it.
    const isFit = (carrierId: string) => !mayComeBack || !unfit.includes(carrierId);
    const to = route.find(
      (carrierId) => carrierId !== from && takesMessages(carrierId) && isFit(carrierId),
    );
    const stays = isBegun || (isDoubted && mayComeBack);
    return to === undefined || stays ? [] : [{ messageId, epoch, from, to }];
  });
  if (moves.length > 0) await reassign(db, moves);
  const begun = again.filter(({ message_id }) => known.get(message_id)?.isBegun);
  if (begun.length > 0 && (await isRemoved(db, from))) await endBegun(begun);
}

async function isRemoved(db: Database, carrierId: string): Promise<boolean> {
  const removed = await db.query(sql`
    select from carriers where carrier_id = ${carrierId} and removed_at is not null`);
  return removed.length > 0;
}

type Known = {
  /** Whether a carrier has a segment of it: then it stays there. */
  isBegun: boolean;
  /** Whether the one that is away may have. Then it stays as long as that one is in its route. */
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
