import { Problem } from "#http";
import type { cursors } from "#messages";
import type { Looked, Position } from "#platform";

export type Pager = ReturnType<typeof pager>;

type Asked = { limit?: number; cursor?: string };

export type Page = { limit: number; position: Position };

type Source<Row> = {
  /** Finds the nearest to the position first; one more than `limit` if there are more. */
  browse: (page: Page) => Promise<Row[] | Looked<Row, string>>;
  idOf: (row: Row) => string;
};

type List<Row> = Source<Row> & {
  /** The list, account and filters that a cursor holds for. */
  boundTo: unknown;
};

/**
 * Pages of any list whose entries have ids in order of age, newest first. A cursor is opaque and
 * holds for the list, account and filters it was made with, and for one direction.
 */
export function pager(sealed: ReturnType<typeof cursors>) {
  const bound = (direction: string, boundTo: unknown) => JSON.stringify([direction, boundTo]);

  function positionOf(cursor: string | undefined, boundTo: unknown): Position {
    if (cursor === undefined) return null;
    for (const direction of ["older", "newer"] as const) {
      const id = sealed.read(cursor, bound(direction, boundTo));
      if (id !== undefined) return { direction, id };
    }
    throw new Problem("CURSOR_INVALID");
  }

  return {
    async list<Row>({ limit = 25, cursor }: Asked, { boundTo, browse, idOf }: List<Row>) {
      const position = positionOf(cursor, boundTo);
      const { rows: found, lookedUntil } = lookedAt(await browse({ limit, position }));
      const near = found.slice(0, limit);
      const [first, last] = [near[0], near.at(-1)];
      // Where a look ended before the page was full, it goes on from there.
      const ahead = lookedUntil ?? (found.length > limit && last ? idOf(last) : null);
      const behind = position && (first ? idOf(first) : position.id);
      const isNewer = position?.direction === "newer";
      const [older, newer] = isNewer ? [behind, ahead] : [ahead, behind];
      return {
        rows: isNewer ? near.toReversed() : near,
        cursors: {
          nextCursor: older && sealed.make(older, bound("older", boundTo)),
          previousCursor: newer && sealed.make(newer, bound("newer", boundTo)),
        },
      };
    },
  };
}

/** Rows of one file at most, and read at once. */
const MAX_ROWS = 100_000;
const PAGE = 1_000;

/** All that a file may hold, newest first, a page at a time. */
export async function* allPages<Row>({ browse, idOf }: Source<Row>): AsyncGenerator<Row[]> {
  let position: Position = null;
  for (let written = 0; written < MAX_ROWS;) {
    const looked: Looked<Row, string> = lookedAt(await browse({ limit: PAGE - 1, position }));
    const { rows, lookedUntil } = looked;
    yield rows;
    written += rows.length;
    const last = rows.length === PAGE ? rows.at(-1) : undefined;
    const id: string | null = last ? idOf(last) : lookedUntil;
    if (id === null) return;
    position = { direction: "older", id };
  }
}

function lookedAt<Row>(found: Row[] | Looked<Row, string>): Looked<Row, string> {
  return "lookedUntil" in found ? found : { rows: found, lookedUntil: null };
}
