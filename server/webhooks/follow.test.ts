import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseUnavailable, NIL_ID, type Queryable } from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { TEST_SECRETS as secrets } from "../../test/support/secret-key.ts";
import { followEvents } from "./follow.ts";

test("following events waits five minutes for a database that is away, and no longer", async () => {
  const followAfter = async (awayMs: number) => {
    const manual = manualClock();
    const clock = { ...manual, sleep: async (ms: number) => manual.advance(ms) };
    const seen = { was_followed: true, snapshot: "1:1:", position: 0, at: clock.now() };
    const query = () =>
      clock.monotonicMs() < awayMs
        ? Promise.reject(new DatabaseUnavailable("away"))
        : Promise.resolve([seen]);
    const ending = new AbortController();
    const deps = { db: { query } as unknown as Queryable, clock, secrets, version: "test" };
    const follow = { accountId: NIL_ID, signal: ending.signal, onReady: () => ending.abort() };
    await followEvents(deps, follow).next();
    return ending.signal.aborted;
  };

  assert.ok(await followAfter(300_000));
  await assert.rejects(followAfter(301_000), DatabaseUnavailable);
});

test("while another database has taken the place of the one that went away, it is not asked", async () => {
  const manual = manualClock();
  const clock = { ...manual, sleep: async (ms: number) => manual.advance(ms) };
  const seen = { was_followed: true, snapshot: "1:1:", position: 0, at: clock.now() };
  const askedAtMs: number[] = [];
  const query = () =>
    askedAtMs.push(clock.monotonicMs()) === 1
      ? Promise.reject(new DatabaseUnavailable("away"))
      : Promise.resolve([seen]);
  const ending = new AbortController();
  const deps = { db: { query } as unknown as Queryable, clock, secrets, version: "test" };
  const isBack = () => Promise.resolve(clock.monotonicMs() >= 2_000);
  const onReady = () => ending.abort();

  await followEvents(deps, { accountId: NIL_ID, signal: ending.signal, onReady, isBack }).next();

  assert.deepEqual(askedAtMs.slice(0, 2), [0, 2_000]);
});
