import { type Database, sql } from "#platform";
import { eventually } from "./eventually.ts";

/** Resolves once somebody on this database, or so many at once, wait for a lock that is held. */
export async function somebodyWaits(db: Database, many = 1): Promise<void> {
  await eventually("somebody waits for a lock", async () => {
    const waiting = await db.query(sql`
      select l.pid
        from pg_locks l
        join pg_stat_activity a on a.pid = l.pid
       where not l.granted and a.datname = current_database()`);
    return waiting.length >= many;
  });
}
