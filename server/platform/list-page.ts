import type { Queryable } from "./database.ts";
import { rawSql, type Sql, sql } from "./sql.ts";

/** Where a page begins: next to the entry with this id, on its older or newer side. */
export type Position<Id = string> = { direction: "older" | "newer"; id: Id } | null;

/** The page that is asked for. */
export type Page<Id = string> = { position: Position<Id>; limit: number };

export type Looked<Row, Id = string> = {
  /** Nearest to the position first. Has `limit` + 1 rows if there are more. */
  rows: Row[];
  /** Where to continue if the search stopped before the page was full; null at the end. */
  lookedUntil: Id | null;
};

/** The choices of a filter, each once and in one order: a cursor fits them however they are given. */
export function chosen<Choice>(choices: readonly Choice[] | undefined): Choice[] | null {
  return choices ? [...new Set(choices)].toSorted() : null;
}

/** SQL for ids that sort by age: beyond the position, up to a bound, and nearest first. */
export function sideOf(position: Position<unknown>) {
  return position?.direction === "newer"
    ? { beyond: rawSql(">"), upTo: rawSql("<="), order: rawSql("asc") }
    : { beyond: rawSql("<"), upTo: rawSql(">="), order: rawSql("desc") };
}

/** The condition that a row with this id lies on the requested side. */
export function isBeside(position: Position<unknown>, id: Sql): Sql {
  return position ? sql`${id} ${sideOf(position).beyond} ${position.id}` : sql`true`;
}

type Listing = Page<unknown> & {
  /** For example `select name from accounts`. */
  select: Sql;
  where: Sql;
  /** The column that orders rows by age, such as `account_id`. */
  id: Sql;
};

/** A page of all rows that satisfy a condition. */
export async function listPage<Row extends object>(
  db: Queryable,
  { select, where, id, position, limit }: Listing,
): Promise<Looked<Row>> {
  const rows = await db.query<Row>(sql`
    ${select}
     where ${isBeside(position, id)} and ${where}
     order by ${id} ${sideOf(position).order}
     limit ${limit + 1}`);
  return { rows, lookedUntil: null };
}
