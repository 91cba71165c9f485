import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#platform";
import { testDatabase } from "../../../test/support/postgres.ts";
import { takeTry } from "./tries.ts";

test("after the clock was set back, an address still has its tries", async () => {
  await using db = await testDatabase();
  const began = Date.now();
  const tryAt = (ms: number) => takeTry(db, { addressTries: "192.0.2.1" }, new Date(began + ms));
  await tryAt(0);

  const tries = [await tryAt(-DAY_MS), await tryAt(-DAY_MS), await tryAt(-DAY_MS)];

  assert.ok(tries.every(({ isAllowed }) => isAllowed));
});

test("wrong guesses count until a day has passed without one, and then start afresh", async () => {
  await using db = await testDatabase();
  const began = new Date();
  const after = (ms: number) => new Date(began.getTime() + ms);
  for (const userTries of ["a day", "longer"])
    for (let n = 0; n < 5; n += 1) await takeTry(db, { userTries }, began);
  const twiceAt = async (userTries: string, at: Date) => [
    await takeTry(db, { userTries }, at),
    await takeTry(db, { userTries }, at),
  ];

  const [afterDay, afterLonger] = [
    await twiceAt("a day", after(DAY_MS)),
    await twiceAt("longer", after(DAY_MS + 1)),
  ];

  assert.deepEqual(afterDay, [{ isAllowed: true }, { isAllowed: false, waitSeconds: 120 }]);
  assert.deepEqual(afterLonger, [{ isAllowed: true }, { isAllowed: true }]);
});
