import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { sql } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { measureBacklog } from "./waiting.ts";

test("waiting webhooks are counted up to a limit, past which the answer says that there are more", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at)
    select gen_random_uuid(), 2, ${randomUUID()}, 1, clock_timestamp(), clock_timestamp() - interval '1 hour'
      from generate_series(1, 7)`);

  const [whole, cut] = [await measureBacklog(db, 7), await measureBacklog(db, 6)];

  assert.partialDeepStrictEqual(whole, { waiting: 7, isMore: false });
  assert.partialDeepStrictEqual(cut, { waiting: 6, isMore: true });
  assert.ok(whole.oldestDueAt);
});
