import { routingVersion } from "#messages";
import { type Clock, type Database, type Queryable, sql } from "#platform";
import { isLivingSender } from "./nodes.ts";

const LOOK_MS = 100;

/**
 * Waits until every living sender has reported that nothing more leaves for a carrier that was
 * paused, or until the time is up. Returns how many have not reported it.
 */
export async function untilHeldBack(
  db: Database,
  carrierId: string,
  { clock, limitMs }: { clock: Clock; limitMs: number },
): Promise<number> {
  const version = await routingVersion(db);
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    const missing = await countMissing(db, { carrierId, version });
    if (missing === 0 || clock.monotonicMs() >= endMs) return missing;
    await clock.sleep(LOOK_MS);
  }
}

async function countMissing(
  db: Queryable,
  { carrierId, version }: { carrierId: string; version: number },
): Promise<number> {
  const [found] = await db.query<{ missing: number }>(sql`
    select count(*) as missing
      from nodes n
     where ${isLivingSender}
       and not exists (
         select from carrier_states c
          where c.carrier_id = ${carrierId} and c.node_id = n.node_id
            and (c.state ->> 'heldAt')::bigint >= ${version}
       )`);
  return found?.missing ?? 0;
}
