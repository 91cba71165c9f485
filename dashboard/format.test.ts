import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countOf,
  formatClock,
  formatCounted,
  formatDay,
  formatDays,
  formatDuration,
  formatNumber,
  formatRate,
  formatRelative,
  formatShare,
  formatSigned,
  formatTime,
  zoneName,
} from "./format.ts";

test("numbers have thousands separators, and signs where a ledger needs them", () => {
  assert.equal(formatNumber(184_220), "184,220");
  assert.equal(formatSigned(1_000), "+1,000");
  assert.equal(formatSigned(-2), "-2");
  assert.equal(countOf(0, "message"), "0 messages");
  assert.equal(countOf(1, "message"), "1 message");
  assert.equal(countOf(2, "reply", "replies"), "2 replies");
});

test("a count that stopped early says so", () => {
  assert.equal(formatCounted(1_000, false), "1,000");
  assert.equal(formatCounted(1_000, true), "1,000 or more");
});

test("the days that credits last are shown as years if they are many", () => {
  assert.equal(formatDays(0), "less than a day");
  assert.equal(formatDays(1), "1 day");
  assert.equal(formatDays(729), "729 days");
  assert.equal(formatDays(36_499), "99 years");
  assert.equal(formatDays(900_000), "100 years or more");
});

test("a rate of fewer than 20 is not shown", () => {
  assert.equal(formatRate(9_713, 10_000), "97.13 %");
  assert.equal(formatRate(20, 20), "100.00 %");
  assert.equal(formatRate(19, 19), undefined);
});

test("a share is shown in whole per cent, and a small one not as zero", () => {
  assert.equal(formatShare(1, 3), "33 %");
  assert.equal(formatShare(1, 1_000), "<1 %");
});

test("a duration is shown in its two largest units", () => {
  const cases: [number, string][] = [
    [0, "0 ms"],
    [820.4, "820 ms"],
    [999.6, "1.0 s"],
    [2_449, "2.4 s"],
    [9_960, "10.0 s"],
    [59_949, "59.9 s"],
    [59_999, "1 min"],
    [72_900, "1 min 12 s"],
    [3_600_000, "1 h"],
    [11_100_000, "3 h 5 min"],
    [187_200_000, "2 d 4 h"],
  ];
  for (const [ms, expected] of cases) assert.equal(formatDuration(ms), expected);
});

test("a time is shown in the zone asked for", () => {
  const iso = "2026-11-15T23:30:00.123Z";

  assert.equal(formatTime(iso, "UTC"), "15 Nov 2026, 23:30:00");
  assert.equal(formatTime(iso, "Europe/Paris"), "16 Nov 2026, 00:30:00");
  assert.equal(formatDay(iso, "Asia/Kathmandu"), "16 Nov 2026");
  assert.equal(formatClock(iso, "UTC"), "23:30:00.123");
  assert.equal(zoneName("Asia/Kathmandu"), "Kathmandu time");
  assert.equal(zoneName("UTC"), "UTC");
});

test("a time near now is put in words, to the nearest unit, and never as a calendar day", () => {
  const now = Date.parse("2026-11-15T12:00:00.000Z");
  const cases: [string, string][] = [
    ["2026-11-15T11:59:30.000Z", "just now"],
    ["2026-11-15T12:00:30.000Z", "in under a minute"],
    ["2026-11-15T11:57:00.000Z", "3 minutes ago"],
    ["2026-11-15T12:59:45.000Z", "in 1 hour"],
    ["2026-11-14T13:00:00.000Z", "23 hours ago"],
    ["2026-11-14T12:10:00.000Z", "1 day ago"],
    ["2026-11-13T13:00:00.000Z", "2 days ago"],
    ["2026-11-17T11:59:00.000Z", "in 2 days"],
    ["2026-12-15T11:59:59.000Z", "in 30 days"],
  ];
  for (const [iso, expected] of cases) assert.equal(formatRelative(iso, now), expected);
});
