import assert from "node:assert/strict";
import { test } from "node:test";
import { testEgress } from "../../test/support/egress.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { judgeUrl } from "./egress/judge-url.ts";
import { connections } from "./connections.ts";

const KEEP_MS = 4_000;

function setUp(maxPools?: number) {
  const clock = manualClock();
  const egress = { ...testEgress(), clock };
  const target = judgeUrl("https://hooks.example.com/", egress.policy);
  const elsewhere = judgeUrl("https://hooks.example.org/", egress.policy);
  assert.ok(target.allowed && elsewhere.allowed);
  return {
    clock,
    target,
    elsewhere,
    pool: connections(egress, maxPools === undefined ? {} : { maxPools }),
  };
}

test("a lane's sound connection is used again, the one used last first", () => {
  const { pool, target } = setUp();
  const [first, second] = [pool.take(1n, target), pool.take(1n, target)];
  pool.release(1n, first, KEEP_MS);
  pool.release(1n, second, KEEP_MS);

  assert.equal(pool.take(1n, target), second);
  assert.equal(pool.take(1n, target), first);
  pool.close();
  assert.ok(first.hasEnded && second.hasEnded, "a stop ends it as any other in use");
});

test("a connection that is not sound is never used again", () => {
  const { pool, target } = setUp();
  const [unwanted, lost] = [pool.take(1n, target), pool.take(1n, target)];
  lost.end();

  pool.release(1n, unwanted, 0);
  pool.release(1n, lost, KEEP_MS);

  assert.ok(![unwanted, lost].includes(pool.take(1n, target)));
  assert.equal(unwanted.hasEnded, true);
});

test("a connection that waited too long is ended, never used again", () => {
  const { clock, pool, target } = setUp();
  const connection = pool.take(1n, target);
  pool.release(1n, connection, KEEP_MS);

  clock.advance(KEEP_MS);
  const next = pool.take(1n, target);
  clock.advance(KEEP_MS);

  assert.notEqual(next, connection);
  assert.equal(connection.hasEnded, true);
  assert.deepEqual(pool.count(), { pools: 1, idle: 0, busy: 1 });
});

test("lanes share no connection, nor do two hosts whose keys happen to be equal", () => {
  const { pool, target, elsewhere } = setUp();
  const connection = pool.take(1n, target);
  pool.release(1n, connection, KEEP_MS);

  assert.notEqual(pool.take(2n, target), connection);
  assert.notEqual(pool.take(1n, elsewhere), connection);
  assert.equal(pool.take(1n, target), connection);
});

test("a pool that is idle for 60 s is closed, one that is used is not", () => {
  const { clock, pool, target } = setUp();
  const [idle, busy] = [pool.take(1n, target), pool.take(2n, target)];
  pool.release(1n, idle, KEEP_MS);

  clock.advance(59_999);
  assert.equal(pool.count().pools, 2);
  clock.advance(10_001);

  assert.deepEqual(pool.count(), { pools: 1, idle: 0, busy: 1 });
  assert.equal(idle.hasEnded, true);
  assert.equal(busy.hasEnded, false);
});

test("at most as many pools are kept as allowed: the least recently used idle one makes room", () => {
  const { clock, pool, target } = setUp(3);
  const busy = pool.take(1n, target);
  for (const hostKey of [2n, 3n, 4n, 5n]) {
    clock.advance(10);
    pool.release(hostKey, pool.take(hostKey, target), KEEP_MS);
  }

  assert.deepEqual(pool.count(), { pools: 3, idle: 2, busy: 1 });
  assert.equal(busy.hasEnded, false);
});

test("no timer is left once all pools are closed", () => {
  const { clock, pool, target } = setUp();
  pool.release(1n, pool.take(1n, target), KEEP_MS);
  clock.advance(120_000);
  assert.equal(clock.waiting(), 0);
  pool.take(1n, target);

  pool.close();

  assert.equal(clock.waiting(), 0);
  assert.deepEqual(pool.count(), { pools: 0, idle: 0, busy: 0 });
});
