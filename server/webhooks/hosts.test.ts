import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, silentLog } from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { onePass } from "../../test/support/one-pass.ts";
import { deliveryMetrics } from "./delivery-metrics.ts";
import { hostKeeper } from "./hosts.ts";
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
