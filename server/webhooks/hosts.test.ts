import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { createMetrics, silentLog, sql } from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { onePass } from "../../test/support/one-pass.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { deliveryMetrics } from "./delivery-metrics.ts";
import { hostKeeper, listHosts } from "./hosts.ts";
import { laneKeeper } from "./lanes.ts";

test("what waits for open hosts is looked at while some of it is too old, else once a minute, also where that fails", async () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock, random: () => 0.5 });
  lanes.recall(1n, { health: "open", lastOkAgoMs: null });
  const found = [500, 3, 0, "failed", 0];
  const db = {
    query() {
      const given_up = found.shift();
      return given_up === "failed" ? Promise.reject(new Error()) : Promise.resolve([{ given_up }]);
    },
  };
  const metrics = deliveryMetrics(createMetrics());
  const { loop } = hostKeeper({ db: db as never, clock, log: silentLog, lanes, metrics });
  const looks: number[] = [];

  for (let n = 0; n < 30; n += 1) {
    const before = found.length;
    await onePass(loop).catch(() => {});
    if (found.length < before) looks.push(n);
    clock.advance(5_000);
  }

  assert.deepEqual(looks, [0, 1, 2, 14, 26]);
});

test("what waits is counted no further for many receivers than for one, and told as more where counting stopped", async () => {
  await using db = await testDatabase();
  const accountId = randomUUID();
  await db.query(sql`
    insert into webhook_hosts (account_id, host_key, origin, health, since, last_at)
    select ${accountId}, n, 'https://' || n || '.example.com', 'open', now(), now() from generate_series(1, 3) n`);
  await db.query(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at)
    select gen_random_uuid(), 2, ${accountId}, h, now(), now() from generate_series(1, 3) h, generate_series(1, h + 1)`);

  const hosts = await listHosts(db, accountId, 9);

  const counted = hosts.map(({ waiting, is_more }) => ({ waiting, is_more }));
  assert.deepEqual(
    counted.toSorted((a, b) => a.waiting - b.waiting),
    [
      { waiting: 2, is_more: false },
      { waiting: 3, is_more: true },
      { waiting: 3, is_more: true },
    ],
  );
});
