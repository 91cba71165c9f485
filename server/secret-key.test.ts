import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Queryable } from "#platform";
import { dataFolder } from "../test/support/data-folder.ts";
import { testDatabase } from "../test/support/postgres.ts";
import { readConfig } from "./config.ts";
import { readSecretKey, requireSecretKey } from "./secret-key.ts";

const configOf = (folder: string) => readConfig({ DATA_DIR: folder });

test("an existing secret key is read, and nothing is written", async () => {
  await using folder = await dataFolder();
  const made = await readSecretKey(configOf(folder.path));
  const before = await stat(folder.path);

  assert.deepEqual(await readSecretKey(configOf(folder.path)), made);

  assert.deepEqual(await stat(folder.path), before);
});

test("a new secret key is on disk before it gets its name, and with that name before it is used", async (t) => {
  await using folder = await dataFolder();
  const path = join(folder.path, "secret.key");
  await using handle = await open(folder.path);
  const hasName: boolean[] = [];
  t.mock.method(Object.getPrototypeOf(handle) as FileHandle, "sync", async () => {
    hasName.push(existsSync(path));
  });

  await readSecretKey(configOf(folder.path));

  assert.deepEqual(hasName, [false, true]);
});

test("of two nodes that start at once with different keys one is refused, as is any later one with another key", async () => {
  await using db = await testDatabase();
  await using first = await dataFolder();
  await using second = await dataFolder();
  await using third = await dataFolder();
  const require = (folder: { path: string }) => requireSecretKey(configOf(folder.path), db);

  const looked = await requireSecretKey(configOf(third.path), db, { onlyLooks: true });
  for (const { path } of [first, second]) await readSecretKey(configOf(path));
  const begun = await Promise.allSettled([require(first), require(second)]);
  const refused = begun.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));

  assert.equal(looked.length, 32);
  assert.equal(refused.length, 1);
  assert.match(String(refused[0]), /^Unfit: .* is not the key that this database's secrets/);
  await assert.rejects(require(third), /is not the key that this database's secrets/);
  await using empty = await dataFolder();
  await assert.rejects(require(empty), /^Unfit: There is no SECRET_KEY and no secret\.key in /);
  assert.equal(existsSync(join(empty.path, "secret.key")), false, "none is made");
});

test("of two processes that begin in one new data folder, none takes the other's key for a lost one", async () => {
  await using db = await testDatabase();
  await using folder = await dataFolder();
  const config = configOf(folder.path);
  const begun: Buffer[] = [];
  // The other is faster: it makes the key and proves it just before this one asks for the proof.
  const slow: Queryable = {
    async query(statement, onNotice) {
      if (begun.length === 0) begun.push(await requireSecretKey(config, db));
      return db.query(statement, onNotice);
    },
  };

  begun.push(await requireSecretKey(config, slow));

  assert.deepEqual(begun[1], begun[0]);
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
      /^Unfit: .*secret\.key does not contain a key .* delete the file, and the next start creates another\.$/,
    );
  });
}

test("a secret key file that cannot be read is named", async () => {
  await using folder = await dataFolder();
  await mkdir(join(folder.path, "secret.key"));

  await assert.rejects(
    readSecretKey(configOf(folder.path)),
    /^Unfit: .*secret\.key cannot be opened \(EISDIR\)\.$/,
  );
});

test("a data folder that cannot be created is named, with what to do", async () => {
  await using folder = await dataFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");

  await assert.rejects(
    readSecretKey(configOf(join(file, "data"))),
    /cannot be written \(ENOTDIR\)/,
  );
});
