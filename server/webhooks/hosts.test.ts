import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import {
  createMetrics,
  type Database,
  DatabaseUnavailable,
  silentLog,
  type Sql,
  sql,
  systemClock,
} from "#platform";
import { attempt, late, ok } from "../../test/support/lanes.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { onePass } from "../../test/support/one-pass.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { deliveryMetrics } from "./delivery-metrics.ts";
import { hostKeeper, listHosts, sweepHosts } from "./hosts.ts";
import { laneKeeper } from "./lanes.ts";

test("deliveries to open hosts are checked while some are too old, else once a minute, even after a failure", async () => {
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

test("waiting webhooks are counted no further for many receivers than for one; is_more says if counting stopped", async () => {
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

test("what nodes note of a host adds up, a failure hides no success, and a node starting within a day knows it", async () => {
  await using db = await testDatabase();
  const accountId = randomUUID();
  const at = { accountId, hostname: "example.com", origin: "https://example.com" };
  for (const outcome of [ok, late]) {
    const { lanes, keeper } = keeperOn(db);
    attempt(lanes, 1n, outcome, { at });
    await keeper.flush();
  }

  const [host] = await listHosts(db, accountId);
  await db.query(sql`
    insert into webhook_hosts (account_id, host_key, origin, health, since, last_at)
    select ${accountId}, n, 'https://x', 'open', now(), now() - make_interval(hours => n) from (values (23), (25)) h (n)`);
  const { lanes, keeper } = keeperOn(db);
  await keeper.recall();

  assert.deepEqual([host?.ok, host?.failed], [1, 1]);
  assert.notEqual(host?.last_ok_at, null);
  assert.deepEqual([23n, 25n].map(lanes.healthOf), ["open", "unproven"]);
});

test("results that the database did not take are noted with those that came after", async () => {
  await using db = await testDatabase();
  const accountId = randomUUID();
  const at = { accountId, hostname: "example.com", origin: "https://example.com" };
  let isAway = true;
  const query: Database["query"] = (statement) =>
    isAway ? Promise.reject(new DatabaseUnavailable("away")) : db.query(statement);
  const { lanes, keeper } = keeperOn({ ...db, query });
  attempt(lanes, 1n, ok, { at });
  await keeper.flush().catch(() => undefined);
  attempt(lanes, 2n, ok, { at: { ...at, origin: "https://b.example.com" } });
  attempt(lanes, 1n, late, { at });
  await keeper.flush().catch(() => undefined);

  isAway = false;
  await keeper.flush();
  await keeper.flush();

  const hosts = await listHosts(db, accountId);
  assert.deepEqual(hosts.map(({ origin, ok, failed }) => [origin, ok, failed]).toSorted(), [
    ["https://b.example.com", 1, 0],
    ["https://example.com", 1, 1],
  ]);
});

test("hosts are noted in the order of their keys, so that nodes do not deadlock", async () => {
  let noted: unknown;
  const query = ({ values }: Sql) => Promise.resolve(((noted = values[1]), []));
  const { lanes, keeper } = keeperOn({ query } as unknown as Database);
  for (const hostKey of [9n, 10n, 8n]) attempt(lanes, hostKey, ok);

  await keeper.flush();

  assert.deepEqual(noted, ["8", "9", "10"]);
});

test("hourly counts are kept for a day, and hosts for as long as attempts are", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into webhook_host_hours (account_id, host_key, hour, ok, failed)
    select gen_random_uuid(), h, now() - make_interval(hours => h), 1, 0 from (values (24), (26)) v (h)`);
  await db.query(sql`
    insert into webhook_hosts (account_id, host_key, origin, health, since, last_at)
    select gen_random_uuid(), d, '', 'open', now(), now() - make_interval(days => d) from (values (6), (8)) v (d)`);

  await sweepHosts(db, 7);

  const left = await db.query(sql`
    select host_key from webhook_host_hours union all select host_key from webhook_hosts`);
  assert.deepEqual(left, [{ host_key: 24 }, { host_key: 6 }]);
});

/** What one node knows and notes of hosts. */
function keeperOn(db: Database) {
  const clock = systemClock;
  const lanes = laneKeeper({ clock });
  const metrics = deliveryMetrics(createMetrics());
  return { lanes, keeper: hostKeeper({ db, clock, log: silentLog, lanes, metrics }) };
}
