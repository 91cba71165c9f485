import type { Queryable } from "./database.ts";
import { type Sql, sql } from "./sql.ts";

/** Small enough that nobody waits long for one of its rows. */
const PAGE = 5_000;

/**
 * Deletes a page of rows; `from` and `where` as in a statement. Returns how many, or 0 if that was
 * less than a page: the few rows that grew old meanwhile wait for the next sweep. Only for tables
 * without partitions, because rows of different partitions can share a ctid.
 */
export async function deletePage(db: Queryable, from: Sql, where: Sql): Promise<number> {
  const gone = await db.query(sql`
    delete ${from}
     where ctid = any (array(select ctid ${from} where ${where} limit ${PAGE}))
    returning 1 as gone`);
  return gone.length < PAGE ? 0 : gone.length;
}
