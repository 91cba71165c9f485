import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isoTime, readTimestamp } from "./timestamp.ts";

test("a timestamp with any number of decimals is read to the millisecond, cut, not rounded", () => {
  const read = (text: string) => readTimestamp(text)?.toISOString();

  assert.equal(read("2026-11-15 09:30:00+00"), "2026-11-15T09:30:00.000Z");
  assert.equal(read("2026-11-15 09:30:00.1+00"), "2026-11-15T09:30:00.100Z");
  assert.equal(read("2026-11-15 09:30:00.12+00"), "2026-11-15T09:30:00.120Z");
  assert.equal(read("2026-11-15 09:30:00.123999+00"), "2026-11-15T09:30:00.123Z");
});

test("other zones, infinity and far years are left to the driver", () => {
  for (const text of [
    "2026-11-15 09:30:00+01",
    "2026-11-15 09:30:00+05:30",
    "infinity",
    "-infinity",
    "12026-11-15 09:30:00+00",
    "2026-11-15 09:30:00+00 BC",
  ])
    assert.equal(readTimestamp(text), undefined, text);
});

test("every moment of our time is read as it was written", () => {
  const from = new Date("1970-01-01T00:00:00Z");
  const to = new Date("9999-12-31T23:59:59.999Z");
  fc.assert(
    fc.property(fc.date({ min: from, max: to, noInvalidDate: true }), (moment) => {
      const written = moment.toISOString().replace("T", " ").replace("Z", "+00");
      assert.equal(readTimestamp(written)?.getTime(), moment.getTime());
    }),
  );
});

test("every moment is written as JavaScript writes it, even before 1970 and far away", () => {
  const moments = fc.oneof(
    fc.date({ noInvalidDate: true }),
    // Many share a second, to test what is remembered.
    fc.integer({ min: -3_000, max: 3_000 }).map((ms) => new Date(ms)),
  );
  fc.assert(fc.property(moments, (at) => assert.equal(isoTime(at), at.toISOString())));
  assert.throws(() => isoTime(new Date(Number.NaN)), RangeError);
});
