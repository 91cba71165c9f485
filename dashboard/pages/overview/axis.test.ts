import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketFormat, countAxis, durationAxis } from "./axis.ts";

test("the ticks of a count are whole and round, and reach as far as its highest value", () => {
  const cases: [number, number[]][] = [
    [0, [0, 1]],
    [3, [0, 1, 2, 3]],
    [16, [0, 5, 10, 15, 20]],
    [3_300, [0, 1_000, 2_000, 3_000, 4_000]],
    [70_000, [0, 20_000, 40_000, 60_000, 80_000]],
  ];
  for (const [highest, expected] of cases) assert.deepEqual(countAxis(highest).ticks, expected);
});

test("the ticks of a duration are round, in one unit, and reach as far as its highest value", () => {
  const cases: [number, string][] = [
    [0, "0 ms, 1 ms"],
    [820, "0 s, 0.5 s, 1 s"],
    [2_200, "0 s, 1 s, 2 s, 3 s"],
    [11_000, "0 s, 5 s, 10 s, 15 s"],
    [75_000, "0 s, 30 s, 60 s, 90 s"],
    [3_600_000, "0 min, 15 min, 30 min, 45 min, 60 min"],
    [172_800_000, "0 h, 12 h, 24 h, 36 h, 48 h"],
  ];
  for (const [highestMs, expected] of cases) {
    const { ticks, tickFormatter } = durationAxis(highestMs);
    assert.equal(ticks.map(tickFormatter).join(", "), expected);
  }
});

test("days are labelled by their date in the reader's zone", () => {
  const start = "2026-10-24T22:00:00.000Z";
  const label = bucketFormat([{ start }], { bucket: "day", zone: "Europe/Paris" });

  assert.equal(label(start), "25 Oct");
});

test("no two hours have the same label, also on the day the clocks go back", () => {
  const buckets = [23, 24, 25, 26].map((hour) => ({
    start: new Date(Date.UTC(2026, 9, 24, hour)).toISOString(),
  }));
  const labels = (zone: string) => {
    const label = bucketFormat(buckets, { bucket: "hour", zone });
    return buckets.map(({ start }) => label(start));
  };

  assert.deepEqual(labels("Europe/Paris"), ["01:00", "02:00 CEST", "02:00 CET", "03:00"]);
  assert.deepEqual(labels("UTC"), [
    "24 Oct, 23:00",
    "25 Oct, 00:00",
    "25 Oct, 01:00",
    "25 Oct, 02:00",
  ]);
});
