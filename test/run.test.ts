import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

test("a path that matches no tests runs none and says so", async () => {
  const runner = spawn(process.execPath, [join(import.meta.dirname, "run.ts"), "test/nothing"]);
  const [said, [code]] = await Promise.all([text(runner.stderr), once(runner, "exit")]);

  assert.deepEqual([said, code], ["No test's path begins with test/nothing.\n", 1]);
});
