import { Problem } from "#http";
import type { cursors } from "#messages";
import type { Position } from "#platform";

export type Pager = ReturnType<typeof pager>;
type Cursors = { nextCursor: string | null; previousCursor: string | null };
type Asked = { limit?: number; cursor?: string };

/**
 * Pages of any list whose entries have ids in order of age, newest first. A cursor is opaque and
 * holds for the list, account and filters it was made with, and for one direction.
 */
export function pager(sealed: ReturnType<typeof cursors>) {
  const bound = (direction: string, boundTo: unknown) => JSON.stringify([direction, boundTo]);
  return {
    read({ limit = 25, cursor }: Asked, boundTo: unknown): { limit: number; position: Position } {
      if (cursor === undefined) return { limit, position: null };
      for (const direction of ["older", "newer"] as const) {
        const id = sealed.read(cursor, bound(direction, boundTo));
        if (id !== undefined) return { limit, position: { direction, id } };
      }
      throw new Problem("CURSOR_INVALID");
    },

    /** From rows as they were found, nearest to the position first, one more than `limit` if there are more. */
    page<Row>(
      found: Row[],
      { limit, position, boundTo }: { limit: number; position: Position; boundTo: unknown },
      idOf: (row: Row) => string,
    ) {
      const hasMore = found.length > limit;
      const near = found.slice(0, limit);
      const isNewer = position?.direction === "newer";
      const rows = isNewer ? near.toReversed() : near;
      const [first, last] = [rows[0], rows.at(-1)];
      const older = isNewer || hasMore ? (last ? idOf(last) : position?.id) : undefined;
      const hasNewer = isNewer ? hasMore : position !== null;
      const newer = hasNewer ? (first ? idOf(first) : position?.id) : undefined;
      return { rows, ...this.cursors({ older, newer }, boundTo) };
    },

    /** Where a look ended before the page was full, it goes on from there, in the same direction. */
    further(
      cursors: Cursors,
      {
        lookedUntil,
        position,
        boundTo,
      }: { lookedUntil: string | null; position: Position; boundTo: unknown },
    ): Cursors {
      if (lookedUntil === null) return cursors;
      const isNewer = position?.direction === "newer";
      const edge = isNewer
        ? this.cursors({ older: undefined, newer: lookedUntil }, boundTo)
        : this.cursors({ older: lookedUntil, newer: undefined }, boundTo);
      return {
        nextCursor: edge.nextCursor ?? cursors.nextCursor,
        previousCursor: edge.previousCursor ?? cursors.previousCursor,
      };
    },

    cursors(
      { older, newer }: { older: string | undefined; newer: string | undefined },
      boundTo: unknown,
    ) {
      return {
        nextCursor: older === undefined ? null : sealed.make(older, bound("older", boundTo)),
        previousCursor: newer === undefined ? null : sealed.make(newer, bound("newer", boundTo)),
      };
    },
  };
}
