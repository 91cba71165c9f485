import { measureCarrierQueues } from "#messages";
import {
  type Database,
  type Loop,
  MAX_COUNTED,
  type Metrics,
  type Queryable,
  sql,
} from "#platform";
import { findCarrierNames, listCarriers } from "./carriers-table.ts";
import { livingSenders } from "./nodes.ts";

type Deps = { db: Database; metrics: Metrics };

const EVERY_MS = 15_000;

/**
 * Reports to `/metrics` what waits in the whole installation, the same on every node, whatever its
 * roles: somebody must notice when no sender is left. Every look has a bounded cost.
 */
export function observeSending({ db, metrics }: Deps): Loop {
  const queue = metrics.gauge(
    "send_queue_messages",
    "Messages still to send, by carrier: due, held by a node, or scheduled. Counted up to 100,000.",
    ["carrier", "state"],
  );
  const oldest = metrics.gauge(
    "send_queue_oldest_due_seconds",
    "Age of the oldest message that is due and that nobody has taken up, by carrier.",
    ["carrier"],
  );
  const paused = metrics.gauge("carrier_paused", "1 where the operator has paused it.", [
    "carrier",
  ]);
  const parked = metrics.gauge(
    "parked_receipts",
    "Receipts that wait for their submission. Counted up to 100,000.",
  );
  const oldestParked = metrics.gauge(
    "parked_receipts_oldest_seconds",
    "Age of the oldest receipt that waits for its submission.",
  );
  const senders = metrics.gauge("senders_alive", "Nodes that hand messages over.");

  async function look(): Promise<void> {
    const [queues, carriers, receipts, nodes, now] = await Promise.all([
      measureCarrierQueues(db),
      listCarriers(db),
      measureParked(db),
      livingSenders(db),
      databaseTime(db),
    ]);
    const names = await findCarrierNames(
      db,
      queues.map(({ carrier_id }) => carrier_id),
    );
    const age = (at: Date | null) => (at ? Math.max(0, now - at.getTime()) / 1000 : 0);
    // An empty queue has no row, so its old figures must be reset.
    for (const gauge of [queue, oldest, paused]) gauge.reset();
    for (const { name, paused: isPaused } of carriers) {
      paused.labels(name).set(isPaused ? 1 : 0);
      oldest.labels(name).set(0);
      for (const state of ["due", "held", "scheduled"]) queue.labels(name, state).set(0);
    }
    // A carrier that was removed and added again has two queues with one name.
    const longest = new Map<string, number>();
    for (const { carrier_id, due, held, scheduled, oldest_due_at } of queues) {
      const name = names.get(carrier_id)?.name ?? carrier_id;
      queue.labels(name, "due").inc(due);
      queue.labels(name, "held").inc(held);
      queue.labels(name, "scheduled").inc(scheduled);
      longest.set(name, Math.max(longest.get(name) ?? 0, age(oldest_due_at)));
    }
    for (const [name, seconds] of longest) oldest.labels(name).set(seconds);
    parked.set(receipts.count);
    oldestParked.set(age(receipts.oldestAt));
    senders.set(nodes.length);
  }

  return {
    name: "observe the send queue",
    idleMs: EVERY_MS,
    async pass() {
      try {
        await look();
      } catch (error) {
        // Better nothing than yesterday's figures.
        for (const gauge of [queue, oldest, paused]) gauge.reset();
        for (const gauge of [parked, oldestParked, senders]) gauge.remove();
        throw error;
      }
    },
  };
}

/** Ids hold the time of arrival, so the first is the oldest. */
export async function measureParked(
  db: Queryable,
): Promise<{ count: number; oldestAt: Date | null }> {
  const [found] = await db.query<{ count: number; oldest_at: Date | null }>(sql`
    select (select count(*) from (select from parked_receipts limit ${MAX_COUNTED}) p) as count,
           (select p.at from parked_receipts p order by p.parked_id limit 1) as oldest_at`);
  return { count: found?.count ?? 0, oldestAt: found?.oldest_at ?? null };
}

async function databaseTime(db: Queryable): Promise<number> {
  const [row] = await db.query<{ now: Date }>(sql`select clock_timestamp() as now`);
  return row?.now.getTime() ?? 0;
}
