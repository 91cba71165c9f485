import { type Clock, type Database, DAY_MS, deletePage, type Loop, sql } from "#platform";
import { sweepSessions } from "./sign-in/sessions.ts";

/** Deletes what is over: sessions, forms and tries after a day, links after a month. */
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
        deletePage(db, sql`from form_keys`, sql`created_at < ${yesterday}`),
        deletePage(db, sql`from sign_in_tries`, sql`at < ${yesterday}`),
        deletePage(db, sql`from links`, sql`expires_at < ${lastMonth}`),
      ]);
      return gone.reduce((sum, each) => sum + each, 0);
    },
  };
}
