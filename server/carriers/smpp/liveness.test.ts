import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { Liveness } from "./liveness.ts";
import { Patience } from "./patience.ts";

test("time in which nothing was read does not make a peer idle", () => {
  const clock = manualClock();
  let asked = 0;
  const liveness = new Liveness({
    clock,
    patience: new Patience(),
    idleMs: 30_000,
    timeoutMs: 10_000,
    ask: () => (asked += 1),
    onAnswer() {},
    onDead() {},
  });
  liveness.heard(0);
  liveness.watch();
  clock.advance(20_000);
  liveness.stop();
  clock.advance(60_000);

  liveness.watchAfterPause(60_000);
  clock.advance(9_999);
  assert.equal(asked, 0);
  clock.advance(1);
  assert.equal(asked, 1);
});
