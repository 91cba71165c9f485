import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate, openDatabase, rawSql, silentLog, sql, systemClock } from "#platform";
import { limitedRole } from "../test/support/limited-role.ts";
import { testDatabase } from "../test/support/postgres.ts";
import { readConfig } from "./config.ts";
import { openStorage } from "./storage.ts";

const open = (url: string) =>
  openStorage(readConfig({ DATABASE_URL: url }), { clock: systemClock, log: silentLog });

test("a database whose own or role's settings trade safe commits for speed is refused", async () => {
  await using db = await testDatabase({ isEmpty: true });
  const { pathname, href } = new URL(db.url);
  await open(href);

  await db.query(rawSql(`alter database ${pathname.slice(1)} set synchronous_commit = off`));

  await assert.rejects(open(href), /can lose what was accepted.*: synchronous_commit\.$/);
});

test("a database that cannot hold every text is refused, with how to make one that can", async () => {
  await using db = await testDatabase({ isEmpty: true });
  const url = new URL(db.url);
  const name = `${url.pathname.slice(1)}_latin`;
  await db.query(rawSql(`create database ${name} encoding 'LATIN1' locale 'C' template template0`));
  try {
    await assert.rejects(
      open(Object.assign(new URL(url), { pathname: name }).href),
      /a database in LATIN1.*encoding 'UTF8' template template0$/,
    );
  } finally {
    await db.query(rawSql(`drop database ${name} with (force)`));
  }
});

test("settings of a role or a database do not change what our sessions rely on", async () => {
  await using db = await testDatabase({ isEmpty: true });
  const name = new URL(db.url).pathname.slice(1);
  for (const setting of [
    "datestyle = 'German, DMY'",
    "timezone = 'America/New_York'",
    "standard_conforming_strings = off",
    "default_transaction_isolation = serializable",
    "default_transaction_read_only = on",
  ]) {
    await db.query(rawSql(`alter database ${name} set ${setting}`));
  }

  await migrate(db.url);
  const fresh = openDatabase({ url: db.url, log: silentLog, maxConnections: 1 });
  const [found] = await fresh.query(sql`
    select '2026-11-05T00:00:00Z'::timestamptz as at, '2026-11-05T00:00:00'::timestamptz as at_in_utc,
           current_setting('transaction_isolation') as isolation,
           length('a\\n') as length`);
  await fresh.close();

  assert.deepEqual(found, {
    at: new Date("2026-11-05T00:00:00Z"),
    at_in_utc: new Date("2026-11-05T00:00:00Z"),
    isolation: "read committed",
    length: 3,
  });
});

test("a server without a free connection is said to be full, not to have another address or password", async () => {
  await using db = await testDatabase({ isEmpty: true });
  await using role = await limitedRole(db);
  await role.allow(0);
  const full = /too busy or full: too many connections for role.*max_connections/;

  await assert.rejects(open(role.url), full);
});

test("a role that may not create tables is told who must own the database", async () => {
  await using db = await testDatabase({ isEmpty: true });
  const url = new URL(db.url);
  const role = `guest_${url.pathname.slice(1)}`;
  await db.query(rawSql(`create role ${role} login password 'guest'`));
  try {
    await assert.rejects(
      migrate(Object.assign(new URL(url), { username: role, password: "guest" }).href),
      /^Unfit: .*permission denied for schema public\. Make its role the owner/,
    );
  } finally {
    await db.query(rawSql(`drop role ${role}`));
  }
});
