import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { DAY_MS, sql } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { readRate } from "./credit-handlers.ts";

test("use per day is the mean of the last seven days, or of a younger account's life, but of at least a day", async () => {
  await using db = await testDatabase();
  const [accountId, refunded] = [randomUUID(), randomUUID()];
  const now = new Date();
  const ago = (days: number) => new Date(now.getTime() - days * DAY_MS);
  await db.query(sql`
    insert into stat_spans
    select account_id, 15, start, 0, 0, 0, 0, 0, charged, refunded, 0, 0, 0
      from (values (${accountId}::uuid, ${ago(6.9)}::timestamptz, 75, 5), (${accountId}, ${ago(7.1)}, 1000, 0),
                   (${refunded}, ${ago(1)}, 5, 75)) as s (account_id, start, charged, refunded)`);
  const rateOf = (created_at: Date, account_id: string = accountId) =>
    readRate(db, { account_id, balance: 105, created_at }, now);

  const rates = [
    await rateOf(ago(30)),
    await rateOf(ago(3.5)),
    await rateOf(ago(0.1)),
    await rateOf(ago(30), refunded),
  ];

  assert.deepEqual(rates, [
    { usedPerDay: 10, daysLeft: 10 },
    { usedPerDay: 20, daysLeft: 5 },
    { usedPerDay: 70, daysLeft: 1 },
    { usedPerDay: 0, daysLeft: null },
  ]);
});
