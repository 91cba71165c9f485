import { carriersWaitedFor, findMessagesOf, findStranded, reassign, type Routing } from "#messages";
import { type Database, sql } from "#platform";

/** A carrier may be away this long before what waits for it goes to the next of its route. */
const STRANDED_MS = 5_000;
const REROUTE_PAGE = 500;

export type RerouteWish = {
  /** Whether the operator has paused it: what waits for it then goes on waiting. */
  isPaused: (carrierId: string) => boolean;
  /** Whether it can take messages on this node. */
  isUp: (carrierId: string) => boolean;
  routing: () => Promise<Routing>;
};

/** What waits for a carrier that is away goes to the next of its route that is not. */
export async function reroute(db: Database, wish: RerouteWish): Promise<number> {
  const waited = await carriersWaitedFor(db);
  const away = waited.filter((carrierId) => !wish.isPaused(carrierId) && !wish.isUp(carrierId));
  for (const from of away) await rerouteFrom(db, from, wish);
  return 0;
}

async function rerouteFrom(
  db: Database,
  from: string,
  { isUp, routing }: RerouteWish,
): Promise<void> {
  const stranded = await findStranded(db, {
    carrierId: from,
    afterMs: STRANDED_MS,
    limit: REROUTE_PAGE,
  });
  const { carriersFor } = await routing();
  const messages = await findMessagesOf(db, stranded);
  const begun = await findBegun(
    db,
    stranded.filter(({ attempt }) => attempt > 0).map(({ message_id }) => message_id),
  );
  const moves = stranded.flatMap(({ message_id: messageId }) => {
    const route = carriersFor(messages.get(messageId)?.recipient ?? "") ?? [];
    const to = route.find((carrierId) => carrierId !== from && isUp(carrierId));
    return to === undefined || begun.has(messageId) ? [] : [{ messageId, from, to }];
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
