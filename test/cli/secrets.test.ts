import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createAccount } from "#accounts";
import { createUser, passwords, resealSecondFactors } from "#console";
import { secretBox, sql, systemClock } from "#platform";
import { listCarriers } from "#sending";
import { openPassword } from "../../server/sending/carrier-secrets.ts";
import { callPosthorn, posthornJson, runPosthorn, words } from "../support/cli.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import { testDatabase } from "../support/postgres.ts";

const newKey = () => randomBytes(32).toString("base64");

test("SECRET_KEY is changed without losing a secret: add the new key, swap, reseal, drop the old", async () => {
  await using db = await testDatabase();
  const [first, second] = [newKey(), newKey()];
  const base = { DATABASE_URL: db.url };
  const account = await posthornJson<{ accountId: string; signingSecret: string }>(
    words`account create --name Acme`,
    { environment: { ...base, SECRET_KEY: first }, run: callPosthorn },
  );
  const firstBox = secretBox(Buffer.from(first, "base64"));
  await makeCarrier(db, { name: "acme", password: "hush", secrets: firstBox });

  const alone = await callPosthorn(words`secrets reseal`, {
    environment: { ...base, SECRET_KEY: first },
  });
  assert.equal(alone.code, 1);
  assert.match(alone.stderr, /^SECRET_KEY_PREVIOUS is not set/);

  const changing = { ...base, SECRET_KEY: second, SECRET_KEY_PREVIOUS: first };
  const reseal = () =>
    posthornJson(words`secrets reseal`, { environment: changing, run: callPosthorn });
  const resealed = await reseal();
  const again = await reseal();
  const shown = await posthornJson<{ signingSecret: string }>(
    words`account secret show --account ${account.accountId}`,
    { environment: { ...base, SECRET_KEY: second }, run: callPosthorn },
  );
  const old = await callPosthorn(words`account secret show --account ${account.accountId}`, {
    environment: { ...base, SECRET_KEY: first },
  });

  assert.deepEqual(resealed, { signingSecrets: 1, carrierPasswords: 1, secondFactors: 0 });
  assert.deepEqual(again, { signingSecrets: 0, carrierPasswords: 0, secondFactors: 0 });
  assert.equal(shown.signingSecret, account.signingSecret);
  assert.equal(old.code, 1, "the old key opens nothing any more");
  const started = await runPosthorn(["start"], {
    environment: { ...base, SECRET_KEY: first, PORT: "0" },
  });
  assert.equal(started.code, 1);
  assert.match(started.stderr, /^SECRET_KEY, .* is not the key that this database's secrets/m);
  const carrier = (await listCarriers(db)).find(({ name }) => name === "acme");
  const secondBox = secretBox(Buffer.from(second, "base64"));
  assert.equal(carrier && openPassword(carrier, secondBox), "hush");
});

test("the seeds of second factors are resealed, even one still waiting for its first code", async () => {
  await using db = await testDatabase();
  const [oldKey, present] = [randomBytes(32), randomBytes(32)];
  const now = systemClock.now();
  const by = { actor: "test", now };
  const { accountId } = await createAccount(db, { name: "A", secrets: secretBox(oldKey), ...by });
  const created = await createUser(
    { db, passwords: passwords() },
    {
      email: "a@example.com",
      password: "violet tram 88 ladder",
      accountId,
      role: "owner",
      isOperator: true,
      ...by,
    },
  );
  if (created.outcome !== "created") assert.fail(created.outcome);
  const place = `second factor of ${created.userId}`;
  const old = secretBox(oldKey);
  await db.query(sql`
    update users set totp = ${old.seal("one", place)}, totp_pending = ${old.seal("two", place)}`);

  const count = await resealSecondFactors(db, secretBox(present, oldKey));

  const [user] = await db.query<{ totp: Buffer; totp_pending: Buffer }>(sql`
    select totp, totp_pending from users`);
  const box = secretBox(present);
  assert.equal(count, 1);
  assert.equal(user && box.open(user.totp, place), "one");
  assert.equal(user && box.open(user.totp_pending, place), "two");
});
