import assert from "node:assert/strict";
import { test } from "node:test";
import { sql, systemClock } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { TEST_SECRETS as secrets } from "../../test/support/secret-key.ts";
import { createAccount } from "./accounts.ts";
import { findSigningSecrets, signingNow } from "./signing-secrets.ts";

test("the previous secret signs second, until its overlap ends", () => {
  const until = new Date("2026-11-15T09:30:00.000Z");
  const secrets = { current: "new", previous: { secret: "old", until } };

  assert.deepEqual(signingNow(secrets, new Date(until.getTime() - 1)), ["new", "old"]);
  assert.deepEqual(signingNow(secrets, until), ["new"]);
  assert.deepEqual(signingNow({ current: "new", previous: null }, until), ["new"]);
});

test("a signing secret opens for no other account, even if it is copied there", async () => {
  await using db = await testDatabase();
  const by = { actor: "test", now: systemClock.now(), secrets };
  const { accountId: own, signingSecret } = await createAccount(db, { name: "Own", ...by });
  const { accountId: other } = await createAccount(db, { name: "Other", ...by });

  await db.query(sql`
    update signing_secrets
       set sealed = (select s.sealed from signing_secrets s where s.account_id = ${own})
     where account_id = ${other}`);

  const found = await findSigningSecrets(db, { accountIds: [own], secrets });
  assert.equal(found.get(own)?.current, signingSecret);
  await assert.rejects(findSigningSecrets(db, { accountIds: [other], secrets }));
});
