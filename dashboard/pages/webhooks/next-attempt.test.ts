import assert from "node:assert/strict";
import { test } from "node:test";
import { nextAttemptOf } from "./next-attempt.ts";

test("the next attempt is shown if there is one: under way, due, when, or that its receiver is paused", () => {
  const nextAttemptAt = "2026-11-15T12:05:00.000Z";
  const [before, then] = [Date.parse("2026-11-15T12:00:00.000Z"), Date.parse(nextAttemptAt)];

  for (const state of ["waiting", "retrying"] as const) {
    const row = { state, nextAttemptAt, isPaused: false };
    assert.equal(nextAttemptOf({ ...row, nextAttemptAt: null }, before), "under way");
    assert.equal(nextAttemptOf(row, then), "due now");
    assert.equal(nextAttemptOf(row, then - 500), "due now");
    assert.equal(nextAttemptOf({ ...row, isPaused: true }, then), "receiver paused");
    for (const isPaused of [false, true])
      assert.equal(nextAttemptOf({ ...row, isPaused }, before), "in 5 minutes");
  }
  const ended = { state: "delivered", nextAttemptAt: null, isPaused: false } as const;
  assert.equal(nextAttemptOf(ended, before), undefined);
});
