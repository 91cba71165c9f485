import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { testDatabase } from "../../test/support/postgres.ts";
import { arrayText } from "./array-text.ts";
import { sql } from "./sql.ts";

test("ids, numbers and times are written without quotes", () => {
  const time = new Date("2026-11-15T09:30:00.123Z");
  const values = ["01936f2a-7c00-7000-8000-000000000001", 1, -0.5, true, null, undefined, time, 7n];

  assert.equal(
    arrayText(values),
    "{01936f2a-7c00-7000-8000-000000000001,1,-0.5,true,NULL,NULL,2026-11-15T09:30:00.123Z,7}",
  );
});

test("an element that is not a value of the database is a bug", () => {
  assert.throws(() => arrayText([{}]), TypeError);
});

test("every text, number and octet comes out of the database as it went in", async () => {
  await using db = await testDatabase({ isEmpty: true });
  const text = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\0", ""));
  const odd = fc.constantFrom(
    "",
    "null",
    "NULL",
    "{}",
    "a,b",
    '"',
    "\\",
    " a ",
    "\n",
    "{NULL}",
    "'",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fc.oneof(text, odd)), { maxLength: 8 }),
      fc.array(fc.option(fc.double({ noNaN: true })), { maxLength: 8 }),
      fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 4 }),
      async (texts, numbers, octets) => {
        const buffers = octets.map((each) => Buffer.from(each));
        const [row] = await db.query<{ texts: unknown; numbers: unknown; octets: unknown }>(sql`
          select ${texts}::text[] as texts, ${numbers}::float8[] as numbers, ${buffers}::bytea[] as octets`);
        assert.deepEqual(row, {
          texts,
          numbers: numbers.map((each) => (each === null ? null : each + 0)),
          octets: buffers,
        });
      },
    ),
    { numRuns: 60 },
  );
});
