import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE_MS } from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { lastHour } from "./last-hour.ts";

test("refusals and late receipts are forgotten after an hour, per carrier, and a shorter count says since when", () => {
  const clock = manualClock();
  const hour = lastHour(clock);
  hour.refused("a", "0x0B");
  hour.cameLate("a");
  clock.advance(30 * MINUTE_MS);
  hour.refused("a", "0x0B");
  hour.refused("a", "0x58");
  hour.cameLate("b");

  const since = "2026-11-15T09:30:00.000Z";
  assert.deepEqual(hour.read("a"), { since, refusals: { "0x0B": 2, "0x58": 1 }, lateReceipts: 1 });
  clock.advance(30 * MINUTE_MS);
  assert.deepEqual(hour.read("a"), {
    since: null,
    refusals: { "0x0B": 1, "0x58": 1 },
    lateReceipts: 0,
  });
  assert.deepEqual(hour.read("b"), { since: null, refusals: {}, lateReceipts: 1 });
  clock.advance(30 * MINUTE_MS);
  assert.deepEqual(hour.read("a"), { since: null, refusals: {}, lateReceipts: 0 });
  assert.deepEqual(hour.read("nobody"), { since: null, refusals: {}, lateReceipts: 0 });
});

test("a carrier that invents codes for ever cannot grow what is kept, and its frequent codes are reported", () => {
  const hour = lastHour(manualClock());
  for (let code = 0; code < 5_000; code += 1) {
    hour.refused("a", `0x${code}`);
    hour.refused("a", "0x99");
  }

  const { refusals } = hour.read("a");
  assert.equal(Object.keys(refusals).length, 30);
  assert.equal(refusals["0x99"], 5_001);
});
