import assert from "node:assert/strict";
import { test } from "node:test";
import { aheadKeeper } from "./ahead.ts";
import { laneKeeper } from "./lanes.ts";
import { attempt, key, ok } from "../../test/support/lanes.ts";
import { manualClock } from "../../test/support/manual-clock.ts";

function keys(accounts: number, hosts: number): bigint[] {
  const count = { length: accounts * hosts };
  return Array.from(count, (_, n) => key(1 + (n % accounts), Math.floor(n / accounts)));
}

/** Receivers that all take this long to answer. */
function receivers(hostKeys: bigint[], durationMs: number) {
  const lanes = laneKeeper({ clock: manualClock() });
  for (const hostKey of hostKeys)
    for (let n = 0; n < 40; n += 1) attempt(lanes, hostKey, ok, { durationMs });
  return aheadKeeper(lanes);
}

test("one fast receiver gets all that a lane may hold, and more only once half of it is gone", () => {
  const ahead = receivers([key(1, 0)], 2);
  const deal = () => ahead.deal([key(1, 0)]).get(key(1, 0));

  assert.equal(deal(), 256);
  ahead.add(key(1, 0), 256);
  assert.equal(ahead.hasRoom(key(1, 0)), false);
  ahead.add(key(1, 0), -127);
  assert.deepEqual([deal(), ahead.isShort(key(1, 0))], [0, false]);
  ahead.add(key(1, 0), -1);
  assert.deepEqual([deal(), ahead.isShort(key(1, 0))], [128, true]);
});

const cases = [
  { what: "an account with 256 fast receivers holds", accounts: 1, hosts: 256, ms: 2, each: 2 },
  { what: "32 accounts with 8 fast receivers each hold", accounts: 32, hosts: 8, ms: 2, each: 8 },
  { what: "an account with 16 slow receivers holds", accounts: 1, hosts: 16, ms: 1_000, each: 4 },
];
for (const { what, accounts, hosts, ms, each } of cases) {
  test(`${what} no more than can begin soon, in equal shares`, () => {
    const hostKeys = keys(accounts, hosts);
    const ahead = receivers(hostKeys, ms);

    const dealt = ahead.deal(hostKeys);

    assert.deepEqual(new Set(dealt.values()), new Set([each]));
    assert.equal(dealt.size, hostKeys.length);
  });
}

test("what accounts and the node already hold counts for the next lane, at birth and in a claim", () => {
  const hostKeys = keys(5, 3);
  const ahead = receivers(hostKeys, 2);
  const rest = key(5, 2);
  for (const hostKey of hostKeys) {
    if (hostKey !== rest) ahead.add(hostKey, 256);
    const isFull = hostKey === key(1, 1);
    if (isFull) assert.equal(ahead.hasRoom(key(1, 2)), false, "its account has enough");
    if (isFull) assert.equal(ahead.hasRoom(key(2, 2)), true);
  }

  assert.equal(ahead.hasRoom(rest), false);
  assert.equal(ahead.deal([rest]).get(rest), 0);
});
