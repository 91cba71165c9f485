import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS, newId, newIdOf, sql, systemClock } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { giveUpParked, giveUpSurplus, takeParked } from "./parked-receipts.ts";

test("an unmatched receipt is kept as long as its carrier says, and for 7 days if that carrier is gone", async () => {
  await using db = await testDatabase();
  const [short, long, gone] = [1, 2, 3].map(() => newId(systemClock.now().getTime()));
  const parked = [
    { carrierId: short, hours: 2 },
    { carrierId: long, hours: 2.5 },
    { carrierId: gone, hours: 24 * 6 },
    { carrierId: gone, hours: 24 * 8 },
  ];
  for (const { carrierId, hours } of parked) {
    await db.query(sql`
      insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
      select id_floor(at), ${carrierId}, '{x}', '{}', at
        from (select now() - ${hours} * interval '1 hour' as at) as t`);
  }
  const carrier = (carrierId = "", parkedMs: number) => ({
    carrierId,
    receiptRules: { per: "segment", windowMs: HOUR_MS, parkedMs } as const,
  });

  const carriers = [carrier(short, HOUR_MS), carrier(long, 3 * HOUR_MS)];
  const givenUp = [await giveUpParked(db, carriers, 1), await giveUpParked(db, carriers, 10)];

  assert.deepEqual(givenUp, [1, 1]);
  const left = await db.query<{ carrier_id: string }>(sql`
    select carrier_id from parked_receipts order by carrier_id`);
  assert.deepEqual(
    left.map(({ carrier_id }) => carrier_id),
    [long, gone],
  );
});

test("of more unmatched receipts than may be kept, the oldest are given up", async () => {
  await using db = await testDatabase();
  const parked = Array.from({ length: 5 }, (_, n) => newIdOf(systemClock.now(), n));
  await db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select p.parked_id, gen_random_uuid(), '{x}', '{}', now() from unnest(${parked}::uuid[]) as p (parked_id)`);

  const givenUp = [await giveUpSurplus(db, 10, 3), await giveUpSurplus(db, 10, 3)];

  assert.deepEqual(givenUp, [2, 0]);
  const left = await db.query<{ parked_id: string }>(sql`
    select parked_id from parked_receipts order by parked_id`);
  assert.deepEqual(
    left.map(({ parked_id }) => parked_id),
    parked.slice(2),
  );
});

test("parked receipts are taken up in the order they came, even within one millisecond", async () => {
  await using db = await testDatabase();
  const carrierId = newId(systemClock.now().getTime());
  // On nodes whose clocks differ, ids and times need not agree.
  const at = systemClock.now().getTime();
  const parked = Array.from({ length: 40 }, (_, n) => ({
    parkedId: newIdOf(new Date(at + Math.floor(n / 4)), n % 4),
    at: new Date(at - Math.floor(n / 4) * 1_000),
  }));
  await db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select p.parked_id, ${carrierId}, '{x}', to_jsonb(p), p.at
      from unnest(${parked.map(({ parkedId }) => parkedId).toReversed()}::uuid[],
                  ${parked.map((each) => each.at).toReversed()}::timestamptz[]) as p (parked_id, at)`);

  const wanted = [{ carrierId, matchId: "x", recipient: "4915112345678" }];
  const taken = await db.transaction((tx) => takeParked(tx, wanted, 100));

  const inOrder = parked.toSorted(
    (a, b) => a.at.getTime() - b.at.getTime() || (a.parkedId < b.parkedId ? -1 : 1),
  );
  assert.deepEqual(
    taken.map(({ receipt }) => (receipt as unknown as { parked_id: string }).parked_id),
    inOrder.map(({ parkedId }) => parkedId),
  );
});

test("parked receipts are indexed at once: none waits unsorted, to be compared with each id asked for", async () => {
  await using db = await testDatabase();
  const carrierId = newId(systemClock.now().getTime());
  await db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select gen_random_uuid(), ${carrierId}, array[n::text], '{}', now() from generate_series(1, 100) n`);

  const [unsorted] = await db.query(sql`
    select gin_clean_pending_list('parked_receipts_by_match_id') as pages`);

  assert.deepEqual(unsorted, { pages: 0 });
});

test("only the newest receipts that may match by now are looked at: those that never do may be very many", async () => {
  await using db = await testDatabase();
  const now = systemClock.now();
  const [carrierId, messageId] = [newId(now.getTime()), newId(now.getTime())];
  await db.query(sql`
    insert into submissions (message_id, account_id, segment, turn, carrier_id, at, outcome, match_id)
    values (${messageId}, ${carrierId}, 1, 1, ${carrierId}, ${now}, 'accepted', 'x')`);
  const parked = [1, 2, 3, 4].map((n) => newIdOf(now, n));
  await db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at, since)
    select p.parked_id, ${carrierId}, '{x}', jsonb_build_object('parked_id', p.parked_id), ${now}, ${now}
      from unnest(${parked}::uuid[]) as p (parked_id)`);

  const since = new Date(now.getTime() - HOUR_MS);
  const sweep = (newest: number) => db.transaction((tx) => takeParked(tx, { since, newest }, 100));
  const taken = await sweep(3);

  assert.deepEqual(
    taken.map(({ receipt }) => (receipt as unknown as { parked_id: string }).parked_id),
    parked.slice(1),
  );
  assert.equal((await sweep(3)).length, 1, "and all where there are no more");
});
