import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { percentileMs } from "./percentile.ts";

const classOf = (ms: number) => Math.floor(Math.log(Math.max(1, ms)) / Math.log(1.1));

test("a percentile read from the histogram is within 5 % of the true one", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 20, max: 3_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95),
      (latencies, share) => {
        const sorted = latencies.toSorted((a, b) => a - b);
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
        const histogram = latencies.map((ms) => ({ class: classOf(ms), count: 1 }));

        const read = percentileMs(histogram, share) ?? 0;

        assert.ok(Math.abs(read - exact) <= 0.05 * exact + 0.5, `${read} for ${exact}`);
      },
    ),
  );
});

test("without a delivery there is no percentile", () => {
  assert.equal(percentileMs([], 0.95), null);
});
