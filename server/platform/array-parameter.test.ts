import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { testDatabase } from "../../test/support/postgres.ts";
import { arrayParameter } from "./array-parameter.ts";
import { arrayText } from "./array-text.ts";
import { rawSql, sql } from "./sql.ts";

const ofMostTypes = {
  uuid: fc.uuid(),
  text: fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: "grapheme-ascii", maxLength: 60 }),
  ),
  smallint: fc.integer({ min: -32_768, max: 32_767 }),
  integer: fc.integer(),
  bigint: fc.maxSafeInteger(),
  boolean: fc.boolean(),
  timestamptz: fc.date({
    min: new Date("1800-01-01"),
    max: new Date("2200-01-01"),
    noInvalidDate: true,
  }),
  bytea: fc.uint8Array().map((octets) => Buffer.from(octets)),
};

for (const [type, value] of Object.entries(ofMostTypes)) {
  test(`an array of ${type} is sent in binary, and means the same as its text`, async () => {
    await using db = await testDatabase({ isEmpty: true });
    const cast = rawSql(`::${type}[]`);
    const plain = (each: unknown) => (typeof each === "string" ? each.replaceAll("\0", "") : each);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option<unknown>(value), { maxLength: 12 }), async (drawn) => {
        const values = drawn.map(plain);

        assert.ok(Buffer.isBuffer(arrayParameter(values, cast.text)));
        const [row] = await db.query<{ same: boolean; count: number }>(sql`
          select ${values}${cast} is not distinct from ${arrayText(values)}${cast} as same,
                 cardinality(${values}${cast}) as count`);
        assert.deepEqual(row, { same: true, count: values.length });
      }),
      { numRuns: 60 },
    );
  });
}

const others: [type: string, value: unknown][] = [
  ["uuid", "01936F2A-7C00-7000-8000-000000000001"],
  ["uuid", "01936f2a-7c00-7000-8000-00000000000g"],
  ["uuid", "01936f2a07c0007000080000000000000001"],
  ["uuid", "01936f2a-7c00-7000-8000-00000000000\u0130"],
  ["uuid", "{01936f2a-7c00-7000-8000-0000000000}"],
  ["uuid", 1],
  ["text", 1],
  ["smallint", 32_768],
  ["smallint", -32_769],
  ["smallint", 0.5],
  ["smallint", "1"],
  ["integer", 2 ** 31],
  ["integer", -(2 ** 31) - 1],
  ["integer", 0.5],
  ["bigint", 2 ** 53],
  ["bigint", 1n],
  ["bigint", "1"],
  ["boolean", "true"],
  ["timestamptz", "2026-11-15T09:30:00.123456Z"],
  // Too far from 2000 for microseconds to be exact.
  ["timestamptz", new Date("1714-01-01T00:00:00.001Z")],
  ["bytea", "\\x00"],
  ["float8", 1],
  ["constructor", 1],
];
for (const [type, value] of others) {
  test(`an array of ${type} with ${typeof value} ${String(value)} is sent as text, for PostgreSQL to judge`, () => {
    assert.equal(arrayParameter([null, value], `::${type}[] `), arrayText([null, value]));
  });
}

test("an array without a cast is sent as text", () => {
  assert.equal(arrayParameter([1], ", "), "{1}");
});

test("a number too large for its type is refused, not cut", async () => {
  await using db = await testDatabase({ isEmpty: true });

  await assert.rejects(db.query(sql`select ${[40_000]}::smallint[]`), /out of range/);
});

test("an array larger than any before it comes out of the database as it went in", async () => {
  await using db = await testDatabase({ isEmpty: true });
  const texts = ["é".repeat(100_000), "short", null, "x".repeat(300_000)];

  const [row] = await db.query<{ texts: unknown; after: unknown }>(sql`
    select ${texts}::text[] as texts, ${["after"]}::text[] as after`);

  assert.deepEqual(row, { texts, after: ["after"] });
});
