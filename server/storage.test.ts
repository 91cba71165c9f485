import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type FileHandle, open as openFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { migrate, openDatabase, rawSql, silentLog, sql, systemClock } from "#platform";
import { dataFolder } from "../test/support/data-folder.ts";
import { testDatabase } from "../test/support/postgres.ts";
import { readConfig } from "./config.ts";
import { openStorage, readSecretKey } from "./storage.ts";

const configOf = (folder: string) => readConfig({ DATA_DIR: folder });

test("a secret key that is there is read, and nothing is written", async () => {
  await using folder = await dataFolder();
  const made = await readSecretKey(configOf(folder.path));
  const before = await stat(folder.path);

  assert.deepEqual(await readSecretKey(configOf(folder.path)), made);

  assert.deepEqual(await stat(folder.path), before);
});

test("a new secret key is on the disk before it has its name, and with it before it is used", async (t) => {
  await using folder = await dataFolder();
  const path = join(folder.path, "secret.key");
  await using handle = await openFile(folder.path);
  const hasName: boolean[] = [];
  t.mock.method(Object.getPrototypeOf(handle) as FileHandle, "sync", async () => {
    hasName.push(existsSync(path));
  });

  await readSecretKey(configOf(folder.path));

  assert.deepEqual(hasName, [false, true]);
});

for (const [title, content] of [
  ["nothing", ""],
  ["fewer than 32 octets", Buffer.alloc(31, 1).toString("base64")],
  ["no base64", "what the operator noted down"],
] as const) {
  test(`a secret key file that holds ${title} is refused, with what to do`, async () => {
    await using folder = await dataFolder();
    await writeFile(join(folder.path, "secret.key"), content);

    await assert.rejects(
      readSecretKey(configOf(folder.path)),
      /^Unfit: .*secret\.key does not hold a key, .* remove the file, and the next start makes another\.$/,
    );
  });
}

test("a data folder that cannot be made is named, with what to do", async () => {
  await using folder = await dataFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");

  await assert.rejects(
    readSecretKey(configOf(join(file, "data"))),
    /cannot be written \(ENOTDIR\)/,
  );
});

const open = (url: string) =>
  openStorage(readConfig({ DATABASE_URL: url }), { clock: systemClock, log: silentLog });

test("a database whose role or own settings give commits up to speed is refused", async () => {
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

test("a role that may not make tables is told who must own the database", async () => {
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
