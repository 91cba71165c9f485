import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";
import { databaseClock } from "./database-clock.ts";
import type { Queryable } from "./database.ts";

const NOON = Date.UTC(2026, 10, 15, 12);
const HOUR_MS = 3_600_000;

/** A node whose clock is an hour ahead. In the database it is noon at monotonic time 0. */
function skewed() {
  let monotonicMs = 0;
  let aheadMs = HOUR_MS;
  const node = databaseClock({
    ...systemClock,
    now: () => new Date(NOON + aheadMs + monotonicMs),
    monotonicMs: () => monotonicMs,
  });
  const wait = (ms: number) => (monotonicMs += ms);
  return {
    wait,
    set: (ms: number) => (aheadMs = ms),
    /** How far the node's time is from the database's now. */
    offMs: () => node.now().getTime() - (NOON + monotonicMs),
    /** The query takes this long to arrive, and its answer this long to come back. */
    follow(thereMs: number, backMs: number) {
      const query = () => {
        wait(thereMs);
        const ms = NOON + monotonicMs;
        wait(backMs);
        return Promise.resolve([{ ms }]);
      };
      return node.follow({ query } as unknown as Queryable);
    },
  };
}

test("the time is the database's, whatever a node's own clock says or is set to", async () => {
  const node = skewed();
  assert.equal(node.offMs(), HOUR_MS);

  await node.follow(0, 0);
  assert.equal(node.offMs(), 0);
  node.set(-HOUR_MS);
  node.wait(1_000);
  assert.equal(node.offMs(), 0);
});

test("a slow answer from the database never moves a time that may be right", async () => {
  const node = skewed();
  await node.follow(0, 0);

  await node.follow(900, 0);
  await node.follow(0, 900);

  assert.equal(node.offMs(), 0);
});
