import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fingerprint, isIdempotencyKey } from "./idempotency.ts";

const print = (body: unknown, operation = "send") => fingerprint(operation, body).toString("hex");

/** The same value, with the names in every object shuffled. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, entry]) => [name, shuffled(entry)] as const);
  return Object.fromEntries(entries.toReversed());
}

test("order of names, spaces and nulls do not change what a body means", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(print(value), print(shuffled(value)));
      assert.equal(print(value), print(JSON.parse(JSON.stringify(value, null, 2))));
    }),
  );
  assert.equal(print({ a: 1, b: null }), print({ a: 1 }));
  assert.equal(print({ m: [{ a: null }] }), print({ m: [{}] }));
});

test("another value, another place for it or another operation gives another fingerprint", () => {
  const pairs = [
    [{ a: 1 }, { a: "1" }],
    [{ a: [] }, { a: {} }],
    [{ a: "b" }, { b: "a" }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: { b: "c" } }, { "a:{b": "c}" }],
    [{ a: 'b","c":"d' }, { a: "b", c: "d" }],
    [{ text: "a" }, { text: "a " }],
    [[null], []],
  ];
  for (const [one, other] of pairs) assert.notEqual(print(one), print(other));
  assert.notEqual(print({}, "send"), print({}, "batch"));
});

/** Removes differences without meaning: the order of names, and names whose value is null. */
function meaning(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meaning);
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? 0 : value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, entry]) => [name, meaning(entry)]));
}

test("two bodies have one fingerprint exactly if they mean the same", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (a, b) => {
      const isSame = JSON.stringify(meaning(a)) === JSON.stringify(meaning(b));
      assert.equal(print(a) === print(b), isSame);
    }),
  );
});

test("a key is 1 to 255 printable ASCII characters", () => {
  for (const key of ["a", " ", "~", "a b", "x".repeat(255)]) assert.ok(isIdempotencyKey(key));
  for (const key of ["", "x".repeat(256), "ü", "a\tb", "a\n", "\x7f", "👍"]) {
    assert.ok(!isIdempotencyKey(key), JSON.stringify(key));
  }
});
