import { type Change, recordAudit } from "#accounts";
import { type Database, type Queryable, sql, type Transaction } from "#platform";
import { lockRouting } from "./routing.ts";

/** The longest matching prefix wins; the empty one is the default. */
export type Route = { prefix: string; carrierIds: string[] };
export type Price = { prefix: string; credits: number };

/**
 * Changes of routes and prices. Each applies from the next request on every node: changes are
 * counted in the tables, and the statement that accepts messages compares that count. Each locks
 * that count before any entry: it is audited with what it replaced, and none deadlocks.
 */
export function setRoute(
  db: Database,
  { prefix, carrierIds }: Route,
  change: Change,
): Promise<void> {
  return db.transaction(async (tx) => {
    await lockRouting(tx);
    const [before] = await listRoutes(tx, prefix);
    await tx.query(sql`
      insert into routes (prefix, carrier_ids) values (${prefix}, ${carrierIds}::uuid[])
          on conflict (prefix) do update set carrier_ids = excluded.carrier_ids`);
    const details = { before: before?.carrierIds ?? null, after: carrierIds };
    await recordAudit(tx, "route.set", { ...change, objectId: prefix, details });
  });
}

/** False if there was no such route. */
export function removeRoute(db: Database, prefix: string, change: Change): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockRouting(tx);
    const [gone] = await tx.query<{ carrier_ids: string[] }>(sql`
      delete from routes where prefix = ${prefix} returning carrier_ids`);
    if (!gone) return false;
    const details = { before: gone.carrier_ids };
    await recordAudit(tx, "route.removed", { ...change, objectId: prefix, details });
    return true;
  });
}

/** Takes a removed carrier out of all routes. A route that had no other carrier is deleted. */
export async function takeOutOfRoutes(
  tx: Transaction,
  carrierId: string,
  change: Change,
): Promise<void> {
  for (const { prefix, carrierIds } of await listRoutes(tx)) {
    const after = carrierIds.filter((each) => each !== carrierId);
    if (after.length === carrierIds.length) continue;
    await tx.query(
      after.length > 0
        ? sql`update routes set carrier_ids = ${after}::uuid[] where prefix = ${prefix}`
        : sql`delete from routes where prefix = ${prefix}`,
    );
    const action = after.length > 0 ? "route.set" : "route.removed";
    const details = { before: carrierIds, after };
    await recordAudit(tx, action, { ...change, objectId: prefix, details });
  }
}

export function setPrice(db: Database, { prefix, credits }: Price, change: Change): Promise<void> {
  return db.transaction(async (tx) => {
    await lockRouting(tx);
    const [before] = await listPrices(tx, prefix);
    await tx.query(sql`
      insert into prices (prefix, credits) values (${prefix}, ${credits})
          on conflict (prefix) do update set credits = excluded.credits`);
    const details = { before: before?.credits ?? null, after: credits };
    await recordAudit(tx, "price.set", { ...change, objectId: prefix, details });
  });
}

/** False if there was no such price. */
export function removePrice(db: Database, prefix: string, change: Change): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockRouting(tx);
    const [gone] = await tx.query<{ credits: number }>(sql`
      delete from prices where prefix = ${prefix} returning credits`);
    if (!gone) return false;
    const details = { before: gone.credits };
    await recordAudit(tx, "price.removed", { ...change, objectId: prefix, details });
    return true;
  });
}

/** All routes, or the one of `prefix`. */
export function listRoutes(db: Queryable, prefix: string | null = null): Promise<Route[]> {
  return db.query<Route>(sql`
    select prefix, carrier_ids as "carrierIds"
      from routes
     where ${prefix}::text is null or prefix = ${prefix}
     order by prefix`);
}

/** All prices, or the one of `prefix`. */
export function listPrices(db: Queryable, prefix: string | null = null): Promise<Price[]> {
  return db.query<Price>(sql`
    select prefix, credits
      from prices
     where ${prefix}::text is null or prefix = ${prefix}
     order by prefix`);
}
