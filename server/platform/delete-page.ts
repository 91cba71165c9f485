import type { Queryable } from "./database.ts";
import { type Sql, sql } from "./sql.ts";

/** Small enough that nobody waits long for a row of it. */
const PAGE = 5_000;

/**
 * Deletes some of the rows, `from` and `where` as in a statement; answers how many, or 0 where it has left
 * none: where rows grow old all the time, the few that did meanwhile wait for the next sweep.
 * Of a table without partitions: in one that has them, rows of several share a ctid.
 */
export async function deletePage(db: Queryable, from: Sql, where: Sql): Promise<number> {
  const gone = await db.query(sql`
    delete ${from}
     where ctid = any (array(select ctid ${from} where ${where} limit ${PAGE}))
    returning 1 as gone`);
  return gone.length < PAGE ? 0 : gone.length;
}
