import assert from "node:assert/strict";
import { test } from "node:test";
import { boundsOf, fromWall, RANGES, readRange, readRangedPage, toWall } from "./range.ts";
import {
  parseSearch,
  present,
  readChoice,
  readChoices,
  readId,
  readNext,
  readPage,
  readText,
  readTime,
  stringifySearch,
} from "./search.ts";

test("a query string read and written again is the same", () => {
  const query = "?status=SENT&status=FAILED&q=%2B49+151&limit=50";

  assert.equal(stringifySearch(parseSearch(query)), query);
});

test("a number in the address stays text, so that a phone number keeps its digits", () => {
  assert.deepEqual(parseSearch("?recipient=004915112345678"), { recipient: "004915112345678" });
});

test("empty and absent values are left out of the address", () => {
  assert.equal(stringifySearch({ a: undefined, b: "", c: null, d: [] }), "");
  assert.deepEqual(present({ a: 1, b: undefined }), { a: 1 });
});

test("an empty value in the address is as if it were not there", () => {
  assert.deepEqual(parseSearch("?status=&q=&range=7d"), { range: "7d" });
  assert.deepEqual(parseSearch("?status=&status=SENT"), { status: "SENT" });
});

test("unknown choices are dropped, and known ones have one order whatever the address has", () => {
  const choices = ["QUEUED", "SENT", "FAILED"] as const;

  assert.equal(readChoice("foo", choices), undefined);
  assert.deepEqual(readChoices(["FAILED", "foo", "QUEUED"], choices), ["QUEUED", "FAILED"]);
  assert.deepEqual(readChoices("SENT", choices), ["SENT"]);
  assert.equal(readChoices("foo", choices), undefined);
});

test("an id is a UUID in any case, and nothing else", () => {
  const id = "019a85c2-5b00-7abc-8def-0123456789a0";

  assert.equal(readId(` ${id.toUpperCase()} `), id);
  assert.equal(readId("019a85c2"), undefined);
  assert.equal(readId([id, id]), undefined);
});

test("a time must name its zone and exist", () => {
  assert.equal(readTime("2026-11-15T10:30:00+01:00"), "2026-11-15T09:30:00.000Z");
  assert.equal(readTime("2026-11-15"), undefined);
  assert.equal(readTime("2026-13-45T00:00:00Z"), undefined);
});

test("after sign-in only paths of our own are followed", () => {
  assert.equal(readNext("/messages?status=SENT"), "/messages?status=SENT");
  for (const trick of [
    "https://elsewhere.example",
    "//elsewhere.example",
    "/\\elsewhere.example",
    "/\t/elsewhere.example",
    "/.//elsewhere.example",
    "javascript:alert(1)",
    "messages",
    undefined,
  ]) {
    assert.equal(readNext(trick), undefined, String(trick));
  }
});

test("a custom range needs two times in order, else the relative one counts", () => {
  const [from, to] = ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z"];

  assert.deepEqual(readRange({ from, to, range: "7d" }), { from, to });
  assert.deepEqual(readRange({ from: to, to: from, range: "7d" }), { range: "7d" });
  assert.deepEqual(readRange({ from, to: from, range: "7d" }), { range: "7d" });
  assert.deepEqual(readRange({ range: "8d" }), {});
});

test("a relative range counts back from now", () => {
  const now = Date.parse("2026-11-15T12:00:00.000Z");

  assert.deepEqual(
    RANGES.map((range) => boundsOf({ range }, now).from),
    [
      "2026-11-15T11:45:00.000Z",
      "2026-11-15T11:00:00.000Z",
      "2026-11-14T12:00:00.000Z",
      "2026-11-08T12:00:00.000Z",
      "2026-10-16T12:00:00.000Z",
    ],
  );
  assert.deepEqual(boundsOf({}, now), {});
});

test("a time on the wall is that of the page's zone", (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env["TZ"];
    else process.env["TZ"] = TZ;
  });
  process.env["TZ"] = "Asia/Kathmandu";
  const iso = "2026-11-15T20:30:00.000Z";

  for (const [zone, wall] of [
    ["UTC", "2026-11-15T20:30"],
    ["Asia/Kathmandu", "2026-11-16T02:15"],
  ] as const)
    assert.deepEqual([toWall(iso, zone), fromWall(wall, zone)], [wall, iso]);
  assert.deepEqual([toWall(undefined, "UTC"), fromWall("", "UTC")], ["", undefined]);
});

test("the time at which a relative range was chosen is in the address only with a cursor", () => {
  const [range, cursor, at] = ["24h", "abc", "2026-11-15T12:00:00.000Z"];

  assert.deepEqual(readRangedPage({ range, cursor, at }), { range, cursor, at });
  assert.deepEqual(readRangedPage({ range, at }), { range });
  assert.deepEqual(readRangedPage({ cursor, at }), { cursor });
});

test("the usual page size is left out of the address", () => {
  assert.deepEqual(readPage({ limit: "25" }), {});
  assert.deepEqual(readPage({ limit: "50", cursor: "abc" }), { limit: "50", cursor: "abc" });
  assert.deepEqual(readPage({ limit: "1000", cursor: "" }), {});
});

test("a text is trimmed, and ignored if it is too long or has a NUL", () => {
  assert.equal(readText("  order 7 "), "order 7");
  assert.equal(readText("a".repeat(129)), undefined);
  assert.equal(readText("order\0"), undefined);
  assert.equal(readText(7), undefined);
});
