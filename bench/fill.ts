import { rawSql } from "#platform";
import { databaseSeconds, type World } from "./world.ts";

type Rows = { first: number; last: number };

/** As many as keep a transaction short and its cost apart from that of the rows. */
const CHUNK = 100_000;
/** One a core of the least machine that this is measured on. */
const LANES = 2;

/**
 * Fills tables with the rows from `first` to `last`, which `insert` makes inside the database, in
 * chunks; then tidies up as weeks of vacuum and checkpoints would have, and says what it took.
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
