import type { Clock } from "./clock.ts";
import type { Queryable } from "./database.ts";
import type { Loop } from "./loop.ts";
import { sql } from "./sql.ts";

export type DatabaseClock = Clock & {
  /** Looks at the database's clock; between two looks the monotonic one goes on. */
  follow(db: Queryable): Promise<void>;
};

/**
 * One time for all nodes, whatever their own clocks say: a message accepted by one is due and expires on
 * another. A node whose clock is wrong, or is set while it runs, goes by the database's all the same.
 */
export function databaseClock(clock: Clock): DatabaseClock {
  /** What the time was when the monotonic clock began. */
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
      // It was read at some moment between: whatever agrees with one of them stays, so that no slow answer moves the time.
      originMs = Math.min(Math.max(originMs, row.ms - afterMs), row.ms - beforeMs);
    },
  };
}

/** Also how long a machine that was suspended, or a database whose clock was set, is out of step. */
const FOLLOW_MS = 5_000;

export function followDatabase(clock: DatabaseClock, db: Queryable): Loop {
  return {
    name: "follow the database's clock",
    idleMs: FOLLOW_MS,
    pass: () => clock.follow(db),
  };
}
