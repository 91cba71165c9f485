import type { Queryable } from "./database.ts";
import { isBeside, type Looked, type Page, sideOf } from "./list-page.ts";
import { type Sql, sql } from "./sql.ts";

/** Rows examined for one page. This bounds the cost of rare rows that have no index. */
const MAX_LOOKED_AT = 10_000;

type LookRequest = Page<unknown> & {
  columns: Sql;
  /** For example `from messages m`. */
  from: Sql;
  /** The alias of its rows, such as `m`. */
  row: Sql;
  /** The column that orders rows by age, such as `m.message_id`. */
  id: Sql;
  /** The conditions that an index serves, in the order of the ids. */
  window: Sql;
  /** The conditions without an index; null if all of the window is wanted. */
  sieve: Sql | null;
};

/** A page of matches among a bounded number of rows. At the bound, says where to continue. */
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
  // Select again, up to the edge: rows that arrived in between moved it, and rows between the two
  // edges would be on both pages or on neither. By now, as many new rows again may have arrived.
  const bounded = sql`${window} and ${id} ${side.upTo} ${edge.id}`;
  const upToEdge = await select(bounded, 2 * MAX_LOOKED_AT);
  return { rows: upToEdge, lookedUntil: upToEdge.length > limit ? null : edge.id };
}
