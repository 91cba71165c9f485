import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { Patience } from "./patience.ts";
import { ResponseTimer } from "./response-timer.ts";
import { Window } from "./window.ts";

test("a pause that ends before the judgement leaves one timer, not two", async () => {
  const clock = manualClock();
  const window = new Window();
  const timer = new ResponseTimer({
    clock,
    window,
    patience: new Patience(),
    onTimeout: () => assert.fail("it has its time again"),
    onDead: () => assert.fail("it has its time again"),
  });
  const settle = () => assert.fail("nothing is settled");
  window.add(1, { sentAtMs: 0, deadlineMs: 30_000, settle });
  timer.arm();
  clock.advance(30_000);

  timer.stop();
  window.extend(5_000);
  timer.arm();
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);

  assert.equal(clock.waiting(), 1);
});
