import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../../test/support/manual-clock.ts";
import { lastHour } from "./last-hour.ts";

const MINUTE_MS = 60_000;

test("what happened more than an hour ago is forgotten, each carrier for itself", () => {
  const clock = manualClock();
  const hour = lastHour(clock);
  hour.refused("a", "0x0B");
  hour.cameLate("a");
  clock.advance(30 * MINUTE_MS);
  hour.refused("a", "0x0B");
  hour.refused("a", "0x58");
  hour.cameLate("b");

  assert.deepEqual(hour.read("a"), { refusals: { "0x0B": 2, "0x58": 1 }, lateReceipts: 1 });
  clock.advance(30 * MINUTE_MS);
  assert.deepEqual(hour.read("a"), { refusals: { "0x0B": 1, "0x58": 1 }, lateReceipts: 0 });
  assert.deepEqual(hour.read("b"), { refusals: {}, lateReceipts: 1 });
  clock.advance(30 * MINUTE_MS);
  assert.deepEqual(hour.read("a"), { refusals: {}, lateReceipts: 0 });
  assert.deepEqual(hour.read("nobody"), { refusals: {}, lateReceipts: 0 });
});

test("a carrier that invents codes for ever cannot grow what is kept, and the frequent ones are told", () => {
  const hour = lastHour(manualClock());
  for (let code = 0; code < 5_000; code += 1) {
    hour.refused("a", `0x${code}`);
    hour.refused("a", "0x99");
  }

  const { refusals } = hour.read("a");
  assert.equal(Object.keys(refusals).length, 30);
  assert.equal(refusals["0x99"], 5_001);
});
