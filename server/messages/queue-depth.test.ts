import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { sql } from "#platform";
import { type TestDatabase, testDatabase } from "../../test/support/postgres.ts";
import { measureCarrierQueues, measureQueue } from "./queue-depth.ts";

const CARRIER = randomUUID();

async function queue(db: TestDatabase, count: number, due: "now" | "later"): Promise<string> {
  const accountId = randomUUID();
  await db.query(sql`
    insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at)
    select gen_random_uuid(), ${accountId}, ${CARRIER},
           clock_timestamp() + make_interval(hours => ${due === "now" ? -1 : 1}), clock_timestamp() + interval '1 day'
      from generate_series(1, ${count})`);
  return accountId;
}

test("a small queue is counted by account and carrier, due and scheduled apart", async () => {
  await using db = await testDatabase();
  const [due, later] = [await queue(db, 3, "now"), await queue(db, 2, "later")];

  const depths = await measureQueue(db);
  const [carrier] = await measureCarrierQueues(db);

  assert.partialDeepStrictEqual(carrier, { carrier_id: CARRIER, due: 3, held: 0, scheduled: 2 });
  const shown = new Map(depths.map(({ account_id, ...depth }) => [account_id, depth]));
  const common = { carrier_id: CARRIER, is_more: false };
  assert.partialDeepStrictEqual(shown.get(due), { ...common, waiting: 3, scheduled: 0 });
  assert.ok(shown.get(due)?.oldest_due_at);
  const scheduled = { ...common, waiting: 0, scheduled: 2, oldest_due_at: null };
  assert.deepEqual(shown.get(later), scheduled);
  assert.equal(depths.length, 2);
});

test("a message that a node holds counts as waiting, even if its lease ends later", async () => {
  await using db = await testDatabase();
  await queue(db, 2, "later");
  await db.query(sql`update send_queue set leased_by = gen_random_uuid()`);

  const [depth] = await measureQueue(db);
  const [carrier] = await measureCarrierQueues(db);

  assert.partialDeepStrictEqual(depth, { waiting: 2, scheduled: 0 });
  assert.partialDeepStrictEqual(carrier, { due: 0, held: 2, scheduled: 0, oldest_due_at: null });
});

test("the oldest message due for a carrier is found, whichever account it is of", async () => {
  await using db = await testDatabase();
  const accounts = [await queue(db, 2, "now"), await queue(db, 2, "now")].toSorted();
  await db.query(sql`
    update send_queue set due_at = due_at - interval '1 hour' where account_id = ${accounts[1]}`);

  const [carrier] = await measureCarrierQueues(db);

  const [oldest] = await db.query(sql`select min(due_at) as at from send_queue`);
  assert.deepEqual({ at: carrier?.oldest_due_at }, oldest);
});

test("an empty queue has no depth", async () => {
  await using db = await testDatabase();

  assert.deepEqual(await measureQueue(db), []);
});

test("counting stops at its limit and says so, and a long line hides no short one", async () => {
  await using db = await testDatabase();
  const long = await queue(db, 50, "now");
  const [three, two] = [await queue(db, 3, "now"), await queue(db, 2, "later")];

  const depths = await measureQueue(db, 10);

  const counts = depths.map((depth) => [
    depth.account_id,
    depth.waiting + depth.scheduled,
    depth.is_more,
  ]);
  const expected = [
    [long, 5, true],
    [three, 3, false],
    [two, 2, false],
  ];
  assert.deepEqual(counts.toSorted(), expected.toSorted());
});
