import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { attempt, key, late, ok } from "../../test/support/lanes.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { accountOf } from "#messages";
import { laneKeeper } from "./lanes.ts";
import { namedLanes } from "./named-lanes.ts";

test("an account with all possible lanes leaves places for thousands of other accounts", () => {
  const named = namedLanes(laneKeeper({ clock: manualClock() }));
  for (let host = 0; host < 65_536; host += 1) named.add(key(1, host));

  for (let account = 2; account < 5_000; account += 1) {
    named.add(key(account));
    assert.ok(named.has(key(account)), `account ${account}`);
  }
});

test("a thousand accounts with more lanes than there are places all get some, and so does a late one", () => {
  const named = namedLanes(laneKeeper({ clock: manualClock() }));
  for (let account = 0; account < 1_000; account += 1)
    for (let host = 0; host < 700; host += 1) named.add(key(account, host));
  named.add(key(1_000));

  const kept = named.sift();

  assert.ok(kept.length <= 10_000);
  const widths = Map.groupBy(kept, accountOf);
  for (let account = 0; account < 1_000; account += 1)
    assert.equal(widths.get(BigInt(account))?.length, 9);
  assert.deepEqual(widths.get(1_000n), [key(1_000)]);
});

test("an account's unproven hosts take no place from its receiver that is known to be healthy", () => {
  const lanes = laneKeeper({ clock: manualClock() });
  attempt(lanes, key(1, 65_535), ok);
  const named = namedLanes(lanes);
  for (let host = 0; host < 65_535; host += 1) named.add(key(1, host));

  named.add(key(1, 65_535));

  assert.ok(named.has(key(1, 65_535)));
});

test("lanes with a lasting backlog take turns, even if walks find them in the same order each time", () => {
  const named = namedLanes(laneKeeper({ clock: manualClock() }));
  const backlog = Array.from({ length: 640 }, (_, host) => key(1, host));
  const served = new Map(backlog.map((hostKey) => [hostKey, 0]));
  for (let round = 0; round < 100; round += 1) {
    backlog.forEach(named.add);
    const claimed = named.sift().slice(0, 100);
    for (const hostKey of claimed) served.set(hostKey, (served.get(hostKey) ?? 0) + 1);
    claimed.forEach(named.delete);
    named.addServed(claimed);
  }

  const times = [...served.values()];
  assert.ok(Math.max(...times) - Math.min(...times) <= 1, `${Math.min(...times)}`);
});

test("a lane waiting for its probe has no place, and gets one when the probe may go", () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock, random: () => 0.5 });
  const named = namedLanes(lanes);
  named.add(key(1));
  for (let n = 0; n < 10; n += 1) attempt(lanes, key(1), late);

  assert.deepEqual(named.sift(), []);
  named.add(key(1));
  assert.ok(!named.has(key(1)));
  clock.advance(30_000);
  named.add(key(1));
  assert.deepEqual(named.sift(), [key(1)]);
});

test("places are freed whatever became of the lanes that had them", () => {
  const host = fc.nat({ max: 1_000 });
  fc.assert(
    fc.property(fc.array(host, { maxLength: 40 }), (healed) => {
      const lanes = laneKeeper({ clock: manualClock() });
      const named = namedLanes(lanes);
      const fill = () => {
        for (let n = 2_000; n < 3_000; n += 1) named.add(key(1, n));
        return named.sift();
      };
      const before = fill();
      before.forEach(named.delete);
      for (let n = 0; n <= 1_000; n += 1) named.add(key(1, n));
      for (const n of healed) attempt(lanes, key(1, n), ok);
      named.sift().forEach(named.delete);

      assert.ok(named.isEmpty());
      assert.deepEqual(fill(), before);
    }),
    { numRuns: 30 },
  );
});
