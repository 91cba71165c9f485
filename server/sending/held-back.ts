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
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    const missing = (await countNotHeldBack(db, [carrierId])).get(carrierId) ?? 0;
    if (missing === 0 || clock.monotonicMs() >= endMs) return missing;
    await clock.sleep(LOOK_MS);
  }
}

/** How many living senders may still send through each of the carriers, as they are now. */
export async function countNotHeldBack(
  db: Queryable,
  carrierIds: readonly string[],
): Promise<Map<string, number>> {
  if (carrierIds.length === 0) return new Map();
  const rows = await db.query<{ carrier_id: string; missing: number }>(sql`
    select r.carrier_id, count(*) as missing
      from carriers r
     cross join nodes n
     where r.carrier_id = any (${carrierIds}::uuid[]) and ${isLivingSender}
       and not exists (
         select from carrier_states c
          where c.carrier_id = r.carrier_id and c.node_id = n.node_id
            and (c.state ->> 'heldAt')::bigint >= r.version)
     group by r.carrier_id`);
  return new Map(rows.map(({ carrier_id, missing }) => [carrier_id, missing]));
}
