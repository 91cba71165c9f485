import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rawSql, type Sql, sql } from "./sql.ts";

test("values become numbered parameters and never text", () => {
  const hostile = "'; drop table accounts; --";

  const statement = sql`select ${hostile}, ${1} from accounts where name = ${hostile}`;

  assert.equal(statement.text, "select $1, $2 from accounts where name = $3");
  assert.deepEqual(statement.values, [hostile, 1, hostile]);
});

test("pieces nest, and parameters are counted over all of them", () => {
  const filter = sql`a = ${1} and b = ${2}`;
  const order = rawSql("desc");

  const statement = sql`select ${0} where ${filter} or (${filter}) order by x ${order} limit ${9}`;

  assert.equal(
    statement.text,
    "select $1 where a = $2 and b = $3 or (a = $4 and b = $5) order by x desc limit $6",
  );
  assert.deepEqual(statement.values, [0, 1, 2, 1, 2, 9]);
});

test("a list, an object and null are one value each", () => {
  const values = [[1, 2], { parts: 1 }, null, undefined, new Date(0), Buffer.of(1)];

  const statement = sql`${values[0]} ${values[1]} ${values[2]} ${values[3]} ${values[4]} ${values[5]}`;

  assert.equal(statement.text, "$1 $2 $3 $4 $5 $6");
  assert.deepEqual(statement.values, values);
});

type Nested = { statement: Sql; values: unknown[] };
/** A statement with arbitrary nesting, and the values that it should carry, in order. */
const nested: fc.Arbitrary<Nested> = fc.letrec<{ node: Nested }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    fc.anything().map((value): Nested => ({ statement: sql`v ${[value]} w`, values: [[value]] })),
    fc.constant<Nested>({ statement: rawSql("now()"), values: [] }),
    fc.tuple(tie("node"), tie("node")).map(([a, b]): Nested => ({
      statement: sql`(${a.statement} and ${"x"} ${b.statement})`,
      values: [...a.values, "x", ...b.values],
    })),
  ),
})).node;

test("however pieces nest, the nth parameter of the text is the nth value", () => {
  fc.assert(
    fc.property(nested, ({ statement, values }) => {
      assert.deepEqual(statement.values, values);
      const numbers = [...statement.text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
      assert.deepEqual(
        numbers,
        values.map((_, n) => n + 1),
      );
    }),
  );
});
