import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS, newId, sql, systemClock } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { giveUpParked } from "./parked-receipts.ts";

test("a receipt that matches nothing is kept as long as its carrier says, and 7 days where that is gone", async () => {
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
