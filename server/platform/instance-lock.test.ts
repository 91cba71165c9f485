import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Unfit } from "./embedded-postgres/unfit.ts";
import { DataDirInUse, lockDataDir } from "./instance-lock.ts";

test("a folder is locked by one holder at a time, and the refusal names it", async () => {
  await using folder = await temporaryFolder();
  const lock = lockDataDir(join(folder.path, "data"));

  assert.throws(
    () => lockDataDir(lock.dataDir),
    (error) => error instanceof DataDirInUse && error.message.includes(`process ${process.pid}`),
  );
  lock.release();
  lockDataDir(lock.dataDir).release();
});

test("the refusal says if the holder is a command, which ends soon", async () => {
  await using folder = await temporaryFolder();
  for (const use of ["command", "service"] as const) {
    const lock = lockDataDir(folder.path, use);

    assert.throws(
      () => lockDataDir(folder.path),
      (error) => error instanceof DataDirInUse && error.isByCommand === (use === "command"),
    );
    lock.release();
  }
});

test("the lock of a killed process is free at once, whatever files it left", async () => {
  await using folder = await temporaryFolder();
  const child = holderOf(folder.path);
  await once(child.stdout, "data");
  assert.throws(() => lockDataDir(folder.path), new RegExp(`process ${child.pid}`));

  child.kill("SIGKILL");
  await once(child, "exit");

  assert.ok((await readdir(folder.path)).includes("instance.pid"));
  lockDataDir(folder.path).release();
});

test("a folder that cannot be created is refused in a sentence", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");

  assert.throws(
    () => lockDataDir(join(file, "data")),
    (error) =>
      error instanceof Unfit && /cannot be made \(ENOTDIR\)\. Set DATA_DIR/.test(error.message),
  );
});

test("a file that cannot be written is named", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "instance.pid");
  await symlink(file, file);

  assert.throws(
    () => lockDataDir(folder.path),
    (error) => error instanceof Unfit && error.message === `${file} cannot be opened (ELOOP).`,
  );
});

test("a path too long for the lock is refused in a sentence, before anything is created", async () => {
  await using folder = await temporaryFolder();

  assert.throws(
    () => lockDataDir(join(folder.path, ..."abcde".split("").map((it) => it.repeat(100)))),
    (error) => error instanceof Unfit && /longer than 490 octets/.test(error.message),
  );
  assert.deepEqual(await readdir(folder.path), []);
});

/** A process that takes the lock and waits to be killed. It ends by itself after a minute. */
function holderOf(dataDir: string) {
  const module = JSON.stringify(join(import.meta.dirname, "instance-lock.ts"));
  const code = `
    const { lockDataDir } = await import(${module});
    globalThis.lock = lockDataDir(${JSON.stringify(dataDir)});
    console.log("locked");
    setTimeout(() => {}, 60_000);`;
  return spawn(process.execPath, ["--input-type=module", "-e", code]);
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "posthorn-lock-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
