import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { type Database, sql } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { loadRouting, longestPrefix, routingTable } from "./routing.ts";

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(..."0123"), minLength: 0, maxLength });

test("the value of the longest matching prefix of a number is found, or none", () => {
  fc.assert(
    fc.property(fc.dictionary(digits(5), fc.nat()), digits(8), (table, number) => {
      const matching = Object.keys(table).filter((prefix) => number.startsWith(prefix));
      const longest = matching.toSorted((a, b) => b.length - a.length)[0];
      assert.equal(
        longestPrefix(table)(number),
        longest === undefined ? undefined : table[longest],
      );
    }),
  );
});

test("the empty prefix is the default, and a value of 0 is a value", () => {
  const price = longestPrefix({ "": 5, "49": 0 });

  assert.equal(price("441"), 5);
  assert.equal(price("491"), 0);
  assert.equal(longestPrefix({})("491"), undefined);
});

const db = await testDatabase();
after(() => db[Symbol.asyncDispose]());

test("without a price of its own a segment costs 1; a change of the tables makes another version", async () => {
  const before = await loadRouting(db);
  await db.query(sql`insert into prices (prefix, credits) values ('49', 3), ('491', 7)`);

  const routing = await loadRouting(db);

  assert.notEqual(routing.version, before.version);
  assert.deepEqual(["44", "4930", "4915"].map(routing.priceFor), [1, 3, 7]);
  assert.equal(routing.carriersFor("4915")?.length, 1);
});

test("a reload asked for during another one reads the tables again", async () => {
  const asked: (() => void)[] = [];
  let reads = 0;
  const held: Database = {
    ...db,
    async query(statement) {
      reads += 1;
      const rows = await db.query(statement);
      await new Promise<void>((resolve) => asked.push(resolve));
      return rows as never;
    },
  };
  const table = routingTable(held);
  const first = table.reload();
  while (asked.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  await db.query(sql`insert into prices (prefix, credits) values ('1', 9)`);

  const second = [table.reload(), table.reload()];
  asked.shift()?.();
  assert.equal((await first).priceFor("1"), 1);
  while (asked.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  asked.shift()?.();

  assert.deepEqual(
    (await Promise.all(second)).map(({ priceFor }) => priceFor("1")),
    [9, 9],
  );
  assert.equal(reads, 2, "and those who wait together share one read");
  assert.equal((await table.current()).priceFor("1"), 9);
});

test("a caller behind ten thousand others waiting for the tables is told to wait, not that the database is away", async () => {
  const silent = { query: () => new Promise(() => {}) } as unknown as Database;
  const { reload } = routingTable(silent);
  for (let n = 0; n < 10_000; n += 1) void reload();

  await assert.rejects(reload(), { code: "QUEUE_FULL", headers: { "retry-after": "1" } });
});
