import type { Queryable } from "./database.ts";
import { isBeside, type Looked, type Page, sideOf } from "./list-page.ts";
import { type Sql, sql } from "./sql.ts";

/** Rows looked at for one page: what is rare, and in no index, costs no more than this. */
const MAX_LOOKED_AT = 10_000;

type LookRequest = Page<unknown> & {
  columns: Sql;
  /** `from messages m`. */
  from: Sql;
  /** The name of its rows, `m`. */
  row: Sql;
  /** Orders them by age, `m.message_id`. */
  id: Sql;
  /** What an index finds, in the order of the ids. */
  window: Sql;
  /** What no index holds; null where all of the window is wanted. */
  sieve: Sql | null;
};

/** A page of what is wanted among a bounded number of rows; where those end, it says where to go on. */
export async function lookThrough<Row extends object, Id>(
  db: Queryable,
  { columns, from, row, id, sieve, position, limit, ...request }: LookRequest,
): Promise<Looked<Row, Id>> {
  const side = sideOf(position);
  const window = sql`${request.window} and ${isBeside(position, id)}`;
  const order = sql`order by ${id} ${side.order}`;
  const select = (among: Sql, most: number) =>
    db.query<Row>(sql`
      select ${columns}
        from (select * ${from} where ${among} ${order} limit ${most}) ${row}
       where ${sieve ?? sql`true`}
       ${order}
       limit ${limit + 1}`);
  const rows = await select(window, MAX_LOOKED_AT);
  if (rows.length > limit || sieve === null) return { rows, lookedUntil: null };
  const [edge] = await db.query<{ id: Id }>(sql`
    select ${id} as id ${from} where ${window} ${order} offset ${MAX_LOOKED_AT - 1} limit 1`);
  if (!edge) return { rows, lookedUntil: null };
  // Once more, up to the edge: a row that came in between has moved it, and what lies between the two
  // edges would stand on both pages or on none. By now as many rows again may have come.
  const bounded = sql`${window} and ${id} ${side.upTo} ${edge.id}`;
  const upToEdge = await select(bounded, 2 * MAX_LOOKED_AT);
  return { rows: upToEdge, lookedUntil: upToEdge.length > limit ? null : edge.id };
}
