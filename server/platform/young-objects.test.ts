import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

test("the engine knows the flag that keeps young objects young", () => {
  const file = new URL("young-objects.ts", import.meta.url).href;
  const script = `(await import(${JSON.stringify(file)})).keepYoungObjectsYoung()`;

  const { stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { encoding: "utf8" },
  );

  assert.deepEqual({ stderr, status }, { stderr: "", status: 0 });
});
