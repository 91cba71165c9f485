import assert from "node:assert/strict";
import { test } from "node:test";
import { healthOf, type Receiver } from "./receiver-health.ts";

const cases: [Receiver["health"], succeeded: number, failed: number, string][] = [
  ["proven", 19, 81, "failing"],
  ["unproven", 19, 81, "failing"],
  ["unproven", 0, 3, "down"],
  ["proven", 49, 51, "failing"],
  ["proven", 50, 50, "unsteady"],
  ["proven", 94, 6, "unsteady"],
  ["proven", 95, 5, "healthy"],
  ["unproven", 99, 1, "healthy"],
  ["slow", 99, 1, "healthy"],
  ["failing", 990, 10, "failing"],
  ["open", 990, 10, "failing"],
  ["proven", 0, 0, "idle"],
];
for (const [health, succeeded, failed, expected] of cases) {
  test(`a ${health} receiver with ${succeeded} successes and ${failed} failures in a day is ${expected}`, () => {
    assert.equal(healthOf({ health, succeeded, failed }), expected);
  });
}
