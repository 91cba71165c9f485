import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { Liveness } from "./liveness.ts";
import { Patience } from "./patience.ts";

test("time in which nothing was read does not make a peer idle", () => {
  const { clock, liveness, asked } = watching();
  clock.advance(20_000);
  liveness.stop();
  clock.advance(60_000);

  liveness.watchAfterPause(60_000);
  clock.advance(9_999);
  assert.equal(asked(), 0);
  clock.advance(1);
  assert.equal(asked(), 1);
});

test("a peer that is not being read from is not judged, even if its time was just over", async () => {
  const { clock, liveness, deaths } = watching();
  clock.advance(30_000);
  clock.advance(10_000);

  liveness.stop();
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);

  assert.equal(deaths(), 0);
});

/** Watches a peer that sent something at the start and nothing since. */
function watching() {
  const clock = manualClock();
  let [asked, deaths] = [0, 0];
  const liveness = new Liveness({
    clock,
    patience: new Patience(),
    idleMs: 30_000,
    timeoutMs: 10_000,
    ask: () => (asked += 1),
    onAnswer() {},
    onDead: () => (deaths += 1),
  });
  liveness.heard(0);
  liveness.watch();
  return { clock, liveness, asked: () => asked, deaths: () => deaths };
}
