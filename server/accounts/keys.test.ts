import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeNewKey, type NewKey } from "./keys.ts";

const now = new Date("2026-11-15T09:30:00.000Z");
const wish: NewKey = {
  accountId: "",
  name: "k",
  scopes: ["messages:send"],
  expiresAt: null,
  actor: "test",
  now,
};

test("a key has a name of 1 to 60 characters", () => {
  for (const name of ["a", "é".repeat(60), "👍".repeat(60), "Prod key #1"]) {
    assert.deepEqual(judgeNewKey({ ...wish, name }), []);
  }
  for (const name of ["", "a".repeat(61), "👍".repeat(61), "a\nb", "a\u202eb", "\ud800"]) {
    assert.equal(judgeNewKey({ ...wish, name }).length, 1, JSON.stringify(name));
  }
});

test("an expiry must lie in the future", () => {
  assert.equal(judgeNewKey({ ...wish, expiresAt: now }).length, 1);
  assert.deepEqual(judgeNewKey({ ...wish, expiresAt: new Date(now.getTime() + 1) }), []);
});

test("everything wrong with a key is reported at once", () => {
  assert.equal(judgeNewKey({ ...wish, name: "", expiresAt: now }).length, 2);
});
