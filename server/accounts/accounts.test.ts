import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { listAccounts } from "./accounts.ts";
import { listKeys } from "./keys.ts";

test("every account and every key of an account is listed, however many there are", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into accounts (account_id, name, created_at)
    select gen_random_uuid(), 'Example', now() from generate_series(1, 10001)`);
  const [account] = await listAccounts(db);
  await db.query(sql`
    insert into keys (key_id, account_id, name, hash, prefix, scopes, created_at, created_by, revoked_at)
    select gen_random_uuid(), ${account?.account_id}, 'k', n::text::bytea, 'sms_Ab3d', array['messages:send'], now(),
           'cli', now()
      from generate_series(1, 1001) n`);

  const accounts = await listAccounts(db);
  const keys = await listKeys(db, account?.account_id ?? "");

  assert.deepEqual([accounts.length, keys.length], [10_001, 1_001]);
});
