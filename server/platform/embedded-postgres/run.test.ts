import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./run.ts";
import { Unfit } from "./unfit.ts";

test("a user without a name is told what to do, not that something went wrong", async () => {
  const initdb = "initdb: could not look up effective user ID 54321: user does not exist";
  const program = `console.error(${JSON.stringify(initdb)}); process.exit(1)`;

  const failed = run(process.execPath, ["--eval", program], { account: undefined, folder: "/" });

  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof Unfit);
    assert.match(error.message, /user id 54321.*Run Posthorn as a user that has one/s);
    return true;
  });
});
