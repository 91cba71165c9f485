import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkFreeSpace, checkSurroundings } from "./surroundings.ts";
import { Unfit } from "./unfit.ts";

test("a folder that does not exist yet is fit, and checking does not create it", async () => {
  await using folder = await temporaryFolder();

  await checkSurroundings(join(folder.path, "to", "be", "made"));

  assert.deepEqual(await readdir(folder.path), []);
});

test("a file in place of the data folder is refused", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data");
  await writeFile(file, "");

  await assert.rejects(checkSurroundings(file), unfit(/is not a folder\. Set DATA_DIR/));
});

test("a nearly full disk is refused, with what is free and what is needed", async () => {
  await using folder = await temporaryFolder();
  const all = Number.MAX_SAFE_INTEGER;

  await assert.rejects(
    checkFreeSpace(folder.path, all),
    unfit(/nearly full: \d+ MB are free, \d+ MB/),
  );
});

test("a folder of something else is not taken for PostgreSQL's", async () => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, "postgresql", "backup"), { recursive: true });

  await assert.rejects(checkSurroundings(folder.path), unfit(/is no data folder of PostgreSQL/));
});

function unfit(sentence: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Unfit);
    assert.match(error.message, sentence);
    return true;
  };
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "posthorn-surroundings-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
