import { rawSql } from "#platform";
import { databaseSeconds, type World } from "./world.ts";

type Rows = { first: number; last: number };

/** Keeps each transaction short, and its fixed cost small beside that of the rows. */
const CHUNK = 100_000;
/** One per core of the smallest machine that this runs on. */
const LANES = 2;

/**
 * Fills tables with the rows from `first` to `last`, which `insert` creates in the database in
 * chunks. Then vacuums and checkpoints as weeks of operation would have, and reports the cost.
 */
export async function fill(
  world: World,
  { first, last }: Rows,
  insert: (rows: Rows) => Promise<unknown>,
): Promise<void> {
  const [began, before] = [performance.now(), await databaseSeconds(world)];
  let next = first;
  async function lane(): Promise<void> {
    while (next <= last) {
      const chunk = { first: next, last: Math.min(next + CHUNK - 1, last) };
      next += CHUNK;
      await insert(chunk);
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane));
  const spent = (await databaseSeconds(world)) - before;
  const db = world.openDatabase({ maxConnections: 1, statementTimeoutMs: 0 });
  await db.query(rawSql("vacuum analyze"));
  await db.query(rawSql("checkpoint"));
  const [rows, seconds] = [last - first + 1, (performance.now() - began) / 1000];
  console.log(
    `${rows.toLocaleString("en")} messages written in ${seconds.toFixed(0)} s, ${((spent * 1e6) / rows).toFixed(0)} µs of the database's processor time each`,
  );
}
