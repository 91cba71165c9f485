import { type Database, type Loop, MAX_COUNTED, type Metrics, sql } from "#platform";

const EVERY_MS = 15_000;

/** Reports to `/metrics` how many webhooks wait in the whole installation, equal on every node. */
export function observeWebhooks({ db, metrics }: { db: Database; metrics: Metrics }): Loop {
  const waiting = metrics.gauge(
    "webhook_deliveries_waiting",
    "Webhooks still to deliver: for the first time, or again after a failure. Counted up to 100,000.",
    ["attempt"],
  );
  return {
    name: "observe webhooks",
    idleMs: EVERY_MS,
    async pass() {
      try {
        const [count] = await db.query<{ first: number; again: number }>(sql`
          select count(*) filter (where w.is_first) as first, count(*) filter (where not w.is_first) as again
            from (select d.is_first from webhook_deliveries d limit ${MAX_COUNTED}) w`);
        waiting.labels("first").set(count?.first ?? 0);
        waiting.labels("again").set(count?.again ?? 0);
      } catch (error) {
        // Better no figures than stale ones.
        waiting.reset();
        throw error;
      }
    },
  };
}
