import { type Database, sql, type Transaction } from "#platform";
import { eventually } from "./eventually.ts";

/** A transaction that stays open while something else happens, however long that takes. */
export function held<Result>(
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    // Otherwise the server would end an idle transaction after a while, and release its locks.
    await tx.query(sql`set local idle_in_transaction_session_timeout = 0`);
    return work(tx);
  });
}

/** Resolves once at least `many` sessions on this database wait for a lock. */
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
