import assert from "node:assert/strict";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { dataFolder } from "../test/support/data-folder.ts";
import { readConfig } from "./config.ts";
import { readSecretKey } from "./storage.ts";

const configOf = (folder: string) => readConfig({ DATA_DIR: folder });

test("a secret key that is there is read, and nothing is written", async () => {
  await using folder = await dataFolder();
  const made = await readSecretKey(configOf(folder.path));
  const before = await stat(folder.path);

  assert.deepEqual(await readSecretKey(configOf(folder.path)), made);

  assert.deepEqual(await stat(folder.path), before);
});

test("a data folder that cannot be made is named, with what to do", async () => {
  await using folder = await dataFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");

  await assert.rejects(
    readSecretKey(configOf(join(file, "data"))),
    /cannot be written \(ENOTDIR\)/,
  );
});
