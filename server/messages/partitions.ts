import { type Database, type Loop, sql } from "#platform";

const HOUR_MS = 3_600_000;

/** Makes the months to come long before their first message. */
export function keepPartitions(db: Database): Loop {
  return {
    name: "make partitions of messages",
    idleMs: HOUR_MS,
    async pass() {
      await db.query(sql`select make_partitions(clock_timestamp())`);
      return 0;
    },
  };
}
