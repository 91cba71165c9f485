import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Type } from "typebox";
import { readQuery, undecodable } from "./query.ts";

const schema = Type.Object({
  limit: Type.Optional(Type.Integer()),
  status: Type.Optional(Type.Array(Type.String())),
  after: Type.Optional(Type.String({ format: "date-time" })),
  name: Type.Optional(Type.String()),
});
const read = (raw: Record<string, unknown>) => readQuery(raw, schema);

test("digits become a number if a whole number is wanted, and nowhere else", () => {
  assert.deepEqual(read({ limit: "25", name: "25" }), { limit: 25, name: "25" });
  for (const limit of ["", "1.5", "-1", "1e3", "0x10", " 1", "1 ", "١", "9".repeat(10)]) {
    assert.deepEqual(read({ limit }), { limit }, "left for the shape check to refuse");
  }
});

test("one value becomes a list of one if a list is wanted", () => {
  assert.deepEqual(read({ status: "SENT" }), { status: ["SENT"] });
  assert.deepEqual(read({ status: ["SENT", "FAILED"] }), { status: ["SENT", "FAILED"] });
  assert.deepEqual(read({ name: ["a", "b"] }), { name: ["a", "b"] });
});

test("the plus of a zone, which a query turns into a space, is put back", () => {
  assert.deepEqual(read({ after: "2026-11-15T09:30:00 02:00" }), {
    after: "2026-11-15T09:30:00+02:00",
  });
  assert.deepEqual(read({ name: "a 02:00" }), { name: "a 02:00" });
});

test("names are kept as they are, even those that every object has", () => {
  const raw = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as object;

  const values = read({ ...raw, ...Object.fromEntries([["__proto__", "a"]]) });

  const expected = { ["__proto__"]: "a", constructor: "b", toString: "c" };
  assert.deepEqual(new Map(Object.entries(values)), new Map(Object.entries(expected)));
});

test("nothing is lost or added, whatever is given", () => {
  const value = fc.oneof(fc.string(), fc.array(fc.string()));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), (raw) => {
      assert.deepEqual(Object.keys(read(raw)), Object.keys(raw));
    }),
  );
});

test("if parameters cannot be decoded, the first hundred of them are named", () => {
  const names = Array.from({ length: 200 }, (_, n) => `%z${n}`);

  assert.deepEqual(undecodable(`/v1/messages?${names.join("&")}`), names.slice(0, 100));
});
