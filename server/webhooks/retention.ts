import { type Database, type Loop, sql } from "#platform";
import { sweepHosts } from "./hosts.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Attempts are kept, shown and replayable for this long. */
export const KEPT_DAYS = 30;

/** Makes the days to come, and drops what is older than attempts are kept. */
export function keepAttempts(db: Database): Loop {
  return {
    name: "keep webhook attempts for 30 days",
    idleMs: HOUR_MS,
    async pass() {
      await db.query(sql`
        select keep_attempt_partitions(clock_timestamp(), make_interval(days => ${KEPT_DAYS}))`);
      await db.query(sql`
        delete from webhook_replays where created_at < clock_timestamp() - make_interval(days => ${KEPT_DAYS})`);
      await sweepHosts(db);
      return 0;
    },
  };
}

/** Followers read several times a second; what they have not read by now they never will. */
export function sweepFollowed(db: Database): Loop {
  return {
    name: "sweep followed events",
    idleMs: MINUTE_MS,
    async pass() {
      await db.query(sql`
        delete from followed_events where at < clock_timestamp() - interval '2 minutes'`);
      await db.query(sql`delete from followers where until < clock_timestamp() - interval '1 day'`);
      return 0;
    },
  };
}
