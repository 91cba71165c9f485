import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff.ts";

test("waits double from the first to the longest, each spread by a fifth either way", () => {
  const span = { fromMs: 1_000, toMs: 60_000 };
  const waits = (random: number) =>
    [0, 1, 5, 6, 1_000].map((tries) => Math.round(backoffMs(span, tries, () => random)));

  assert.deepEqual(waits(0.5), [1_000, 2_000, 32_000, 60_000, 60_000]);
  assert.deepEqual(waits(0), [800, 1_600, 25_600, 48_000, 48_000]);
  assert.deepEqual(waits(1), [1_200, 2_400, 38_400, 72_000, 72_000]);
});
