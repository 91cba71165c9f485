import assert from "node:assert/strict";
import { test } from "node:test";

import { validityPeriod } from "./validity.ts";

const now = () => new Date("2026-11-15T23:59:30.500Z");

test("a relative validity is the time left, in days, hours, minutes and seconds", () => {
  assert.equal(validityPeriod("relative", 86_400, now), "000001000000000R");
  assert.equal(validityPeriod("relative", 259_199, now), "000002235959000R");
  assert.equal(validityPeriod("relative", 61.9, now), "000000000101000R");
});

test("an absolute validity is a time in UTC", () => {
  assert.equal(validityPeriod("absolute", 60, now), "261116000030000+");
});

test("a validity that is nearly over is sent as a second: none would mean the carrier's own, which is longer", () => {
  assert.equal(validityPeriod("relative", 0.2, now), "000000000001000R");
  assert.equal(validityPeriod("relative", -5, now), "000000000001000R");
});

test("a carrier that takes no validity is sent none", () => {
  assert.equal(validityPeriod("none", 60, now), "");
});
