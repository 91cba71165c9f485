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

test("a pool finds the host that is there, whichever of the others are not", async () => {
  await using db = await testDatabase();
  const address = db.url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1:2,127.0.0.1");
  const pool = openDatabase({ url: address, log: silentLog, maxConnections: 4 });

  const answers = await Promise.all(
    Array.from({ length: 4 }, () => pool.query(sql`select 1 as one`)),
  );

  assert.deepEqual(
    answers.flat(),
    Array.from({ length: 4 }, () => ({ one: 1 })),
  );
  await pool.close();
});

test("many who find the same host dead together go one host on, not many", () => {
  const primary = seekPrimary("postgres://one:1,two:2/posthorn");
  const tried = primary.position();

  primary.advance(tried);
  primary.advance(tried);

  assert.equal(primary.position(), 1);
});
