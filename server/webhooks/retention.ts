import {
  type Database,
  deletePage,
  HOUR_MS,
  type Loop,
  type Metrics,
  MINUTE_MS,
  type Sql,
  sql,
} from "#platform";
import { FOLLOWED_KEPT_MS } from "./follow.ts";
import { sweepHosts } from "./hosts.ts";

type Deps = { db: Database; metrics: Metrics; keepDays: number };

/** Creates missing partitions for the coming days; returns how many expired ones it dropped. */
export async function keepAttemptDays(db: Database, keepDays: number): Promise<number> {
  const [kept] = await db.query<{ dropped: number }>(sql`
    select keep_attempt_partitions(clock_timestamp(), make_interval(days => ${keepDays})) as dropped`);
  return kept?.dropped ?? 0;
}

/** Keeps attempts, and what belongs to them, for as many days. */
export function keepAttempts({ db, metrics, keepDays }: Deps): Loop {
  return {
    name: `keep webhook attempts for ${keepDays} days`,
    idleMs: HOUR_MS,
    async pass() {
      const days = await keepAttemptDays(db, keepDays);
      const [row] = await db.query<{ until: Date }>(sql`
        select partitions_until('webhook_attempts') as until`);
      if (row) metrics.partitionsUntil.labels("webhook_attempts").set(row.until.getTime() / 1000);
      const isOlder = (column: Sql) =>
        sql`${column} < clock_timestamp() - make_interval(days => ${keepDays})`;
      const replays = await deletePage(db, sql`from webhook_replays`, isOlder(sql`created_at`));
      const hosts = await sweepHosts(db, keepDays);
      // Rows that came while their day had no partition. Deleted last, so nothing fails with it.
      const strays = await deletePage(db, sql`from webhook_attempts_other`, isOlder(sql`at`));
      return days + replays + hosts + strays;
    },
  };
}

/** Followers read several times a second; what they have not read by now they never will. */
export function sweepFollowed(db: Database): Loop {
  return {
    name: "sweep followed events",
    idleMs: MINUTE_MS,
    async pass() {
      await db.query(sql`delete from followers where until < clock_timestamp() - interval '1 day'`);
      const isOld = sql`at < clock_timestamp() - make_interval(secs => ${FOLLOWED_KEPT_MS / 1000})`;
      return deletePage(db, sql`from followed_events`, isOld);
    },
  };
}
