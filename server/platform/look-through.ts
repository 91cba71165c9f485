import type { Queryable } from "./database.ts";
import { type Position, sideOf } from "./position.ts";
import { type Sql, sql } from "./sql.ts";

/** Rows looked at for one page: what is rare, and in no index, costs no more than this. */
const MAX_LOOKED_AT = 10_000;

type LookRequest = {
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
  position: Position<unknown>;
  limit: number;
};

export type Looked<Row, Id> = {
  /** Nearest to the position first; one more than `limit` if there are more. */
  rows: Row[];
  /** Where to go on when the look ended without a full page; null where the end was reached. */
  lookedUntil: Id | null;
};

/** A page of what is wanted among a bounded number of rows; where those end, it says where to go on. */
export async function lookThrough<Row extends object, Id>(
  db: Queryable,
  { columns, from, row, id, window, sieve, position, limit }: LookRequest,
): Promise<Looked<Row, Id>> {
  const side = sideOf(position);
  const order = sql`order by ${id} ${side.order}`;
  const select = (among: Sql) =>
    db.query<Row>(sql`
      select ${columns}
        from (select * ${from} where ${among} ${order} limit ${MAX_LOOKED_AT}) ${row}
       where ${sieve ?? sql`true`}
       ${order}
       limit ${limit + 1}`);
  const rows = await select(window);
  if (rows.length > limit || sieve === null) return { rows, lookedUntil: null };
  const [edge] = await db.query<{ id: Id }>(sql`
    select ${id} as id ${from} where ${window} ${order} offset ${MAX_LOOKED_AT - 1} limit 1`);
  if (!edge) return { rows, lookedUntil: null };
  // Once more, up to the edge: a row that came in between has moved it, and what lies between the two
  // edges would stand on both pages or on none.
  const bounded = sql`${window} and ${id} ${side.upTo} ${edge.id}`;
  return { rows: await select(bounded), lookedUntil: edge.id };
}
