import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#platform";
import { testDatabase } from "../../../test/support/postgres.ts";
import { takeTry } from "./tries.ts";

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
