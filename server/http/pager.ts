import type { Looked, Page, Position } from "#platform";
import { cursors } from "./cursor.ts";
import { Problem } from "./problem.ts";

export type Pager = ReturnType<typeof pager>;

type Asked = { limit?: number; cursor?: string };

export type List<Row> = {
  /** The list, account and filters that a cursor is valid for. */
  boundTo: unknown;
  browse: (page: Page) => Promise<Looked<Row>>;
  idOf: (row: Row) => string;
};

/**
 * Pages of any list whose ids sort by age, newest first. A cursor is opaque. It is valid only for
 * the list, account and filters that it was made with, and for one direction.
 */
export function pager(key: Buffer, previousKey?: Buffer) {
  const sealed = cursors(key, previousKey);
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
      const { rows: found, lookedUntil } = await browse({ limit, position });
      const near = found.slice(0, limit);
      const [first, last] = [near[0], near.at(-1)];
      // If the search stopped before the page was full, the next page continues from there.
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
