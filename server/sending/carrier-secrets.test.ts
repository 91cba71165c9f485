import assert from "node:assert/strict";
import { test } from "node:test";
import { secretBox, sql, systemClock, within } from "#platform";
import { somebodyWaits } from "../../test/support/locks.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { openPassword, openSettings, shownSettings } from "./carrier-secrets.ts";
import {
  addCarrier,
  type CarrierRow,
  changeCarrier,
  listCarriers,
  removeCarrier,
  resealCarriers,
} from "./carriers-table.ts";

const [OLD_KEY, NEW_KEY] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const KEY = "-----BEGIN PRIVATE KEY-----";
const settings = { host: "127.0.0.1", port: 2775, system_id: "us", tls: true, tls_key: KEY };
const change = { actor: "test", now: systemClock.now() };

test("a carrier's password and private key are stored only sealed, open only for it, and are removed with it for good", async () => {
  await using db = await testDatabase();
  const secrets = secretBox(OLD_KEY);
  const wish = { name: "acme", settings, password: "pass-77", secrets, ...change };
  const added = await addCarrier(db, wish);
  assert.equal(added.outcome, "added");
  const stored = () =>
    db.query<{ row: string }>(sql`
      select c::text as row from carriers c union all select a::text from audit_log a`);
  const isReadable = async () =>
    (await stored()).some(({ row }) => row.includes(KEY) || row.includes("pass-77"));

  assert.equal(await isReadable(), false);
  const carrier = await find(db);
  assert.deepEqual(openSettings(carrier, secrets), settings);
  assert.equal(openPassword(carrier, secrets), "pass-77");
  assert.equal(shownSettings(carrier.settings)["tls_key"], "[secret]");
  assert.throws(() => openSettings({ ...carrier, carrier_id: "another" }, secrets));
  assert.throws(() => openPassword({ ...carrier, carrier_id: "another" }, secrets));

  const { carrier_id: carrierId } = carrier;
  await changeCarrier(db, { carrierId, settings: { ...settings, port: 2776 }, secrets, ...change });
  assert.equal(await isReadable(), false);
  assert.deepEqual(openSettings(await find(db), secrets), { ...settings, port: 2776 });

  await removeCarrier(db, { carrierId, ...change });
  await changeCarrier(db, { carrierId, settings, password: "pass-78", secrets, ...change });
  const left = await db.query(sql`
    select from carriers where carrier_id = ${carrierId} and (password is not null or settings ? 'tls_key')`);
  assert.equal(left.length, 0);
});

test("after resealing, only the new SECRET_KEY opens the password and the private key", async () => {
  await using db = await testDatabase();
  const wish = { name: "acme", settings, password: "pass-77", ...change };
  await addCarrier(db, { ...wish, secrets: secretBox(OLD_KEY) });

  assert.equal(await resealCarriers(db, secretBox(NEW_KEY, OLD_KEY)), 1);
  assert.equal(await resealCarriers(db, secretBox(NEW_KEY, OLD_KEY)), 0);

  const carrier = await find(db);
  assert.deepEqual(openSettings(carrier, secretBox(NEW_KEY)), settings);
  assert.equal(openPassword(carrier, secretBox(NEW_KEY)), "pass-77");
});

test("a carrier changed while it is being resealed is still sealed with the new SECRET_KEY", async () => {
  await using db = await testDatabase();
  const secrets = secretBox(OLD_KEY);
  await addCarrier(db, { name: "acme", settings, password: "pass-77", secrets, ...change });
  const { carrier_id: carrierId } = await find(db);

  const { resealing } = await db.transaction(async (tx) => {
    await changeCarrier(within(tx), { carrierId, paused: true, secrets, ...change });
    const resealing = resealCarriers(db, secretBox(NEW_KEY, OLD_KEY));
    await somebodyWaits(db);
    return { resealing };
  });

  assert.equal(await resealing, 1);
  const carrier = await find(db);
  assert.equal(carrier.paused, true);
  assert.equal(openPassword(carrier, secretBox(NEW_KEY)), "pass-77");
});

async function find(db: Parameters<typeof listCarriers>[0]): Promise<CarrierRow> {
  const carriers = await listCarriers(db);
  return carriers.find(({ name }) => name === "acme") ?? assert.fail("it is not listed");
}
