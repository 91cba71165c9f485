import assert from "node:assert/strict";
import { test } from "node:test";
import { type Database, secretBox, type Sql, sql, systemClock } from "#platform";
import { held, somebodyWaits } from "../../test/support/locks.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { TEST_KEY, TEST_SECRETS as secrets } from "../../test/support/secret-key.ts";
import {
  acceptCode,
  beginSecondFactor,
  resealSecondFactors,
  switchOnSecondFactor,
} from "./second-factor.ts";
import { codeOf } from "./sign-in/totp.ts";
import { findUser, insertUser } from "./users.ts";

test("the seed of a second factor opens for no other user, even if it is copied there", async () => {
  await using db = await testDatabase();
  const now = systemClock.now();
  const user = { name: "", passwordHash: "", isOperator: false, now };
  const insert = async (email: string) =>
    (await db.transaction((tx) => insertUser(tx, { ...user, email }))) ?? assert.fail("taken");
  const [own, other] = [await insert("ada@example.com"), await insert("eve@example.com")];
  const seed = await db.transaction((tx) => beginSecondFactor(tx, { secrets }, own));

  await db.query(sql`
    update users
       set totp_pending = (select u.totp_pending from users u where u.user_id = ${own})
     where user_id = ${other}`);

  const switchOn = async (userId: string) => {
    const found = (await findUser(db, userId)) ?? assert.fail("nobody");
    const given = { user: found, code: codeOf(seed, now), now };
    return db.transaction((tx) => switchOnSecondFactor(tx, { secrets }, given));
  };
  await assert.rejects(switchOn(other));
  assert.ok(await switchOn(own));
});

test("resealing a seed does not bring it back if another took its place meanwhile", async () => {
  await using db = await testDatabase();
  const now = systemClock.now();
  const user = { email: "ada@example.com", name: "", passwordHash: "", isOperator: false, now };
  const userId = (await db.transaction((tx) => insertUser(tx, user))) ?? assert.fail("taken");
  const begin = () => db.transaction((tx) => beginSecondFactor(tx, { secrets }, userId));
  await begin();
  let seed = "";
  const interrupted: Database = {
    ...db,
    async query<Row extends object>(statement: Sql) {
      const rows = await db.query<Row>(statement);
      if (seed === "") seed = await begin();
      return rows;
    },
  };

  const either = secretBox(Buffer.alloc(32, 8), TEST_KEY);

  await resealSecondFactors(interrupted, either);

  const found = (await findUser(db, userId)) ?? assert.fail("nobody");
  const given = { user: found, code: codeOf(seed, now), now };
  assert.ok(await db.transaction((tx) => switchOnSecondFactor(tx, { secrets: either }, given)));
});

test("a seed that is switched on while it is being resealed is still sealed with the new SECRET_KEY", async () => {
  await using db = await testDatabase();
  const now = systemClock.now();
  const user = { email: "ada@example.com", name: "", passwordHash: "", isOperator: false, now };
  const userId = (await db.transaction((tx) => insertUser(tx, user))) ?? assert.fail("taken");
  const seed = await db.transaction((tx) => beginSecondFactor(tx, { secrets }, userId));
  const find = async () => (await findUser(db, userId)) ?? assert.fail("nobody");
  const newKey = Buffer.alloc(32, 8);

  const { resealing } = await held(db, async (tx) => {
    const given = { user: await find(), code: codeOf(seed, now), now };
    await switchOnSecondFactor(tx, { secrets }, given);
    const asked = resealSecondFactors(db, secretBox(newKey, TEST_KEY));
    await somebodyWaits(db);
    return { resealing: asked };
  });

  assert.equal(await resealing, 1);
  const later = new Date(now.getTime() + 30_000);
  const given = { user: await find(), code: codeOf(seed, later), now: later };
  assert.ok(await db.transaction((tx) => acceptCode(tx, { secrets: secretBox(newKey) }, given)));
});
