import type { Clock } from "./clock.ts";
import type { Queryable } from "./database.ts";
import type { Loop } from "./loop.ts";
import { sql } from "./sql.ts";

export type DatabaseClock = Clock & {
  /** Reads the database's clock. Between two reads, time advances by the monotonic clock. */
  follow(db: Queryable): Promise<void>;
};

/**
 * One time for all nodes: a message accepted by one node becomes due and expires on another. A node
 * whose own clock is wrong, or is changed while it runs, still follows the database's.
 */
export function databaseClock(clock: Clock): DatabaseClock {
  /** The wall-clock time at monotonic time 0. */
  let originMs = clock.now().getTime() - clock.monotonicMs();
  return {
    ...clock,
    now: () => new Date(originMs + clock.monotonicMs()),
    async follow(db) {
      const beforeMs = clock.monotonicMs();
      const [row] = await db.query<{ ms: number }>(sql`
        select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms`);
      const afterMs = clock.monotonicMs();
      if (!row) return;
      // The clock was read at some time in between. The origin moves only as far as that proves.
      originMs = Math.min(Math.max(originMs, row.ms - afterMs), row.ms - beforeMs);
    },
  };
}

/** Also how long a suspended machine, or a database whose clock was set, stays out of step. */
const FOLLOW_MS = 5_000;

export function followDatabase(clock: DatabaseClock, db: Queryable): Loop {
  return {
    name: "follow the database's clock",
    idleMs: FOLLOW_MS,
    pass: () => clock.follow(db),
  };
}
