import { type Database, HOUR_MS, type Log, type Loop, type Metrics, sql } from "#platform";

type Deps = {
  db: Database;
  log: Log;
  metrics: Metrics;
  /** Months that ended more days ago than this are dropped; 0 keeps all of them. */
  keepDays: number;
};

/** Each in its own transaction, so that a lock on one is not held while another is made. */
const BY_MONTH = ["messages", "events", "submissions"];

/** Makes missing partitions around this month. A table in use is left for the next time. */
export async function makePartitions(db: Database): Promise<void> {
  for (const parent of BY_MONTH)
    await db.query(sql`select make_partitions(${parent}, clock_timestamp())`);
}

/** Makes partitions long before their first message, and drops those that are too old. */
export function keepPartitions({ db, log, metrics, keepDays }: Deps): Loop {
  return {
    name: "keep the months of messages",
    idleMs: HOUR_MS,
    async pass() {
      await makePartitions(db);
      const [row] = await db.query<{ until: Date }>(
        sql`select partitions_until('messages') as until`,
      );
      if (row) metrics.partitionsUntil.labels("messages").set(row.until.getTime() / 1000);
      if (keepDays === 0) return 0;
      // Drops one month at a time, so that nobody who uses the tables waits for long.
      const [dropped] = await db.query<{ month: string | null }>(sql`
        select drop_oldest_messages(make_interval(days => ${keepDays})) as month`);
      if (!dropped?.month) return 0;
      log.info(
        { month: dropped.month },
        `the messages of ${dropped.month} were dropped by retention`,
      );
      return 1;
    },
  };
}
