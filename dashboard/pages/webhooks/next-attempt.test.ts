import assert from "node:assert/strict";
import { test } from "node:test";
import { nextAttemptOf } from "./next-attempt.ts";

test("the next attempt is told where one comes: under way, due, or when", () => {
  const nextAttemptAt = "2026-11-15T12:05:00.000Z";
  const [before, then] = [Date.parse("2026-11-15T12:00:00.000Z"), Date.parse(nextAttemptAt)];

  for (const state of ["waiting", "retrying"] as const) {
    assert.equal(nextAttemptOf({ state, nextAttemptAt: null }, before), "is under way");
    assert.equal(nextAttemptOf({ state, nextAttemptAt }, then), "is due");
    assert.equal(nextAttemptOf({ state, nextAttemptAt }, before), "in 5 minutes");
  }
  assert.equal(nextAttemptOf({ state: "delivered", nextAttemptAt: null }, before), undefined);
});
