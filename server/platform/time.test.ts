import assert from "node:assert/strict";
import { test } from "node:test";
import { readTime, readBound } from "./time.ts";

test("a time finer than a millisecond is truncated as a moment, and rounded up as a bound", () => {
  const finer = "2026-11-15T09:30:00.123000001Z";

  assert.equal(readTime(finer)?.toISOString(), "2026-11-15T09:30:00.123Z");
  assert.equal(readBound(finer)?.toISOString(), "2026-11-15T09:30:00.124Z");
  assert.equal(
    readBound("2026-11-15T09:30:00.123000+01:00")?.toISOString(),
    "2026-11-15T08:30:00.123Z",
  );
  assert.equal(readBound("9999-12-31T23:59:59.9999Z")?.toISOString(), "9999-12-31T23:59:59.999Z");
  assert.equal(readBound("2026-02-30T09:30:00.1234Z"), null);
});
