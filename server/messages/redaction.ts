import { type Database, type Loop, sql } from "#platform";

const EVERY_MS = 60_000;
/** Small enough that nobody who changes a message waits for it. */
const PAGE = 1_000;

/** Replaces the texts of messages older than `days`, page by page, and keeps everything else. */
export function redactTexts({ db, days }: { db: Database; days: number }): Loop {
  return {
    name: "redact old texts",
    idleMs: EVERY_MS,
    async pass() {
      const [page] = await db.query<{ has_more: boolean }>(sql`
        select redact_texts(make_interval(days => ${days}), ${PAGE}) as has_more`);
      return page?.has_more ? 1 : 0;
    },
  };
}
