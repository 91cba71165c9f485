import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../../test/support/postgres.ts";
import { openDatabase } from "./database.ts";
import { silentLog } from "./log.ts";
import { connectToPrimary, seekPrimary } from "./primary.ts";
import { sql } from "./sql.ts";

test("an address with one host is handed on as it is", () => {
  const address = "postgres://me:secret@[::1]:5433/posthorn?sslmode=require";

  assert.equal(seekPrimary(address).url, address);
  assert.equal(seekPrimary(address).count, 1);
});

test("a host that is not there is passed over for the next one", async () => {
  await using db = await testDatabase();
  const address = db.url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1");

  const client = await connectToPrimary(address);

  assert.equal((await client.query("select 1 as one")).rows[0].one, 1);
  await client.end();
});

test("a pool finds the host that is there, after at most one refusal for each that is not", async () => {
  await using db = await testDatabase();
  const address = db.url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1:2,127.0.0.1");
  const pool = openDatabase({ url: address, log: silentLog, maxConnections: 1 });

  await assert.rejects(pool.query(sql`select 1`));
  await assert.rejects(pool.query(sql`select 1`));

  assert.deepEqual(await pool.query(sql`select 1 as one`), [{ one: 1 }]);
  await pool.close();
});
