import type { Queryable } from "./database.ts";
import { rawSql, type Sql, sql } from "./sql.ts";

/** Where a page of a list begins: beside the entry with this id, on the older or the newer side. */
export type Position<Id = string> = { direction: "older" | "newer"; id: Id } | null;

/** A page that is asked for. */
export type Page<Id = string> = { position: Position<Id>; limit: number };

export type Looked<Row, Id = string> = {
  /** Nearest to the position first; one more than `limit` if there are more. */
  rows: Row[];
  /** Where to go on when the look ended without a full page; null where the end was reached. */
  lookedUntil: Id | null;
};

/** In SQL, where ids are in order of age: what lies on that side, up to where, and the nearest first. */
export function sideOf(position: Position<unknown>) {
  return position?.direction === "newer"
    ? { beyond: rawSql(">"), upTo: rawSql("<="), order: rawSql("asc") }
    : { beyond: rawSql("<"), upTo: rawSql(">="), order: rawSql("desc") };
}

/** The condition that a row with this id lies on the side that is asked for. */
export function isBeside(position: Position<unknown>, id: Sql): Sql {
  return position ? sql`${id} ${sideOf(position).beyond} ${position.id}` : sql`true`;
}

type Listing = Page<unknown> & {
  /** `select name from accounts`. */
  select: Sql;
  where: Sql;
  /** Orders them by age, `account_id`. */
  id: Sql;
};

/** A page of all that a condition holds for. */
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
