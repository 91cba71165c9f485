import assert from "node:assert/strict";
import { test } from "node:test";
import { type Span, spanBefore, spanOf } from "./span.ts";

const NOW = new Date("2026-11-15T09:30:40.123Z");

function span(asked: Parameters<typeof spanOf>[0], now = NOW): Span {
  const found = spanOf(asked, now);
  if ("wrong" in found) throw new Error(JSON.stringify(found.wrong));
  return found;
}

test("a range consists of its last buckets, including the one that is not over yet", () => {
  const minutes = span({ range: "15m" });
  assert.equal(minutes.starts.length, 15);
  assert.equal(minutes.from.toISOString(), "2026-11-15T09:16:00.000Z");
  assert.equal(minutes.to.toISOString(), "2026-11-15T09:31:00.000Z");
  assert.equal(minutes.width, 1);

  const hours = span({ range: "24h" });
  assert.equal(hours.starts.length, 24);
  assert.equal(hours.to.toISOString(), "2026-11-15T10:00:00.000Z");
  assert.equal(hours.width, 15);
});

test("days begin at midnight of the zone asked for", () => {
  const days = (zone: string) =>
    span({ range: "7d", zone }).starts.map((start) => start.toISOString());

  assert.equal(days("UTC")[0], "2026-11-09T00:00:00.000Z");
  assert.equal(days("Europe/Paris")[0], "2026-11-08T23:00:00.000Z");
  assert.equal(days("Asia/Kathmandu").at(-1), "2026-11-14T18:15:00.000Z");
});

test("hours of a zone with an odd offset begin on its own full hours", () => {
  const { starts } = span({ range: "24h", zone: "Asia/Kathmandu" });

  assert.equal(starts.at(-1)?.toISOString(), "2026-11-15T09:15:00.000Z");
});

test("a day on which the clocks change has 23 or 25 hours", () => {
  const asked = { range: "custom", zone: "Europe/Paris" } as const;
  const autumn = span({
    ...asked,
    from: new Date("2026-10-20T00:00:00Z"),
    to: new Date("2026-10-30T00:00:00Z"),
  });
  const hours = autumn.starts.map((start, n) => {
    const end = autumn.starts[n + 1] ?? autumn.to;
    return (end.getTime() - start.getTime()) / 3_600_000;
  });

  assert.deepEqual(
    [...new Set(hours)].toSorted((a, b) => a - b),
    [24, 25],
  );
});

test("the previous span has as many buckets, and ends where this one begins or once it has lasted as long", () => {
  for (const range of ["15m", "1h", "24h", "7d", "30d"] as const) {
    const now = span({ range, zone: "Europe/Paris" });
    const whole = spanBefore(now, now.to);
    const before = spanBefore(now, NOW);
    assert.equal(whole.to.getTime(), now.from.getTime(), range);
    assert.equal(before.starts.length, now.starts.length, range);
    const longer = lasted(before.from, before.to) - lasted(now.from, NOW);
    assert.ok(longer >= 0 && longer < before.width * 60_000, `${range}: ${longer} ms longer`);
  }
});

test("minutes that are no longer kept are compared by quarters", () => {
  const from = new Date(NOW.getTime() - 46 * 3_600_000);
  const to = new Date(from.getTime() + 3 * 3_600_000);
  const now = span({ range: "custom", from, to });

  assert.deepEqual([now.width, spanBefore(now, NOW).width], [1, 15]);
});

function lasted(from: Date, to: Date): number {
  return to.getTime() - from.getTime();
}

test("a custom range gets buckets that suit its length, with minutes only while they are kept", () => {
  const custom = (from: string, to: string) =>
    span({ range: "custom", from: new Date(from), to: new Date(to) }).bucket;

  assert.equal(custom("2026-11-15T08:00:00Z", "2026-11-15T09:00:00Z"), "minute");
  assert.equal(custom("2026-11-01T08:00:00Z", "2026-11-01T09:00:00Z"), "quarter");
  assert.equal(custom("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"), "hour");
  assert.equal(custom("2026-10-01T00:00:00Z", "2026-11-02T00:00:00Z"), "day");
});

test("an impossible range is refused in words", () => {
  for (const asked of [
    { zone: "Mars/Olympus" },
    { zone: "+05:30" },
    { range: "custom" },
    { range: "custom", from: NOW, to: NOW },
    { range: "custom", from: new Date("2020-01-01"), to: NOW },
    { range: "custom", from: new Date("1999-12-31"), to: new Date("2000-01-02") },
    { range: "custom", from: new Date("9998-12-31"), to: new Date("9999-01-01") },
  ] as const)
    assert.ok("wrong" in spanOf(asked, NOW), JSON.stringify(asked));
});
