import { type Clock, type Database, DAY_MS, type Loop, sql } from "#platform";
import { sweepSessions } from "./sign-in/sessions.ts";

/** Forgets what is over: sessions, forms and tries of a day ago, links of a month ago. */
export function sweepLoop(db: Database, clock: Clock): Loop {
  return {
    name: "forget old sessions and forms",
    idleMs: 300_000,
    async pass() {
      const now = clock.now();
      const yesterday = new Date(now.getTime() - DAY_MS);
      const lastMonth = new Date(now.getTime() - 30 * DAY_MS);
      const gone = await Promise.all([
        sweepSessions(db, now),
        db.query(sql`
          delete from form_keys
           where ctid in (select ctid from form_keys where created_at < ${yesterday} limit 1000)
          returning key`),
        db.query(sql`
          delete from sign_in_tries
           where ctid in (select ctid from sign_in_tries where at < ${yesterday} limit 1000)
          returning subject`),
        db.query(sql`
          delete from links
           where ctid in (select ctid from links where expires_at < ${lastMonth} limit 1000)
          returning link_id`),
      ]);
      return gone.reduce<number>(
        (sum, each) => sum + (typeof each === "number" ? each : each.length),
        0,
      );
    },
  };
}
