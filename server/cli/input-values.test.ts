import assert from "node:assert/strict";
import { test } from "node:test";
import {
  durationMs,
  id,
  moment,
  momentAfter,
  momentBefore,
  prefix,
  webUrl,
} from "./input-values.ts";

const NOW = new Date("2026-11-15T09:30:00.000Z");

test("a moment is an ISO time or a distance, whose direction depends on the command", () => {
  const after = momentAfter(moment("90d"), NOW);
  const before = momentBefore(moment("24h"), NOW);

  assert.equal(after.toISOString(), "2027-02-13T09:30:00.000Z");
  assert.equal(before.toISOString(), "2026-11-14T09:30:00.000Z");
  assert.equal(
    momentAfter(moment("2026-12-01T00:00:00+01:00"), NOW).toISOString(),
    "2026-11-30T23:00:00.000Z",
  );
});

const DURATIONS = ["", "90", "d", "1.5d", "-1d", "soon"];
const TIMES = ["2026-12-01", "2026-02-30T00:00:00Z", "2026-12-01T24:00:00Z"];
for (const wrong of [...DURATIONS, ...TIMES, "9999-12-31T23:59:59-23:59"]) {
  test(`"${wrong}" is no moment`, () => {
    assert.throws(() => moment(wrong), /^Error: must be a time such as/);
  });
}

test("durations have a unit", () => {
  assert.equal(durationMs("2m"), 120_000);
  assert.throws(() => durationMs("2"), /^Error: must be a duration such as/);
  assert.throws(() => moment("99999999d"), /^Error: must be 36500d or less/);
});

test("a prefix is up to 15 digits, with or without a plus", () => {
  assert.equal(prefix("+49"), "49");
  assert.equal(prefix(""), "");
  assert.throws(() => prefix("49 1"), /must be the first digits/);
  assert.throws(
    () => prefix("+"),
    /must be the first digits/,
    "all numbers only if nothing is typed",
  );
  assert.throws(() => prefix("1".repeat(16)), /must be the first digits/);
});

test("ids are taken in either case", () => {
  assert.equal(id("019A85C2-5B00-7ABC-8DEF-0123456789AB"), "019a85c2-5b00-7abc-8def-0123456789ab");
  assert.throws(() => id("acme"), /must be an id such as/);
});

test("an address to forward to is absolute and speaks HTTP", () => {
  assert.equal(webUrl("http://localhost:3000/hook"), "http://localhost:3000/hook");
  assert.throws(() => webUrl("localhost:3000"), /must be a URL such as/);
});
