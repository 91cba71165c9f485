import assert from "node:assert/strict";
import { chmod, chown, cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cachedCopy } from "./binaries-cache.ts";
import { bundledPackage, linkLibraries } from "./binaries.ts";
import { run } from "./run.ts";
import { Unfit } from "./unfit.ts";

const IS_ROOT = process.geteuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };

test("libraries are linked even if npm ran no install script", async () => {
  await using copy = await packageCopy();
  const libraries = join(copy.native, "lib");
  for (const entry of await readdir(libraries, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) await rm(join(libraries, entry.name));
  }

  await linkLibraries(copy.native);

  const initdb = join(copy.native, "bin", "initdb");
  assert.match(
    await run(initdb, ["--version"], { account: undefined, folder: "/" }),
    /PostgreSQL\) 18/,
  );
});

test(
  "programs in a folder closed to PostgreSQL's user run from a copy that only root can write",
  { skip: !IS_ROOT && "not root" },
  async () => {
    await using copy = await packageCopy();
    const version = (native: string) =>
      run(join(native, "bin", "postgres"), ["--version"], { account: NOBODY, folder: "/" });
    await assert.rejects(version(copy.native), /EACCES/);

    const cached = await cachedCopy(copy.native, { cache: copy.cache });

    assert.match(await version(cached), /PostgreSQL\) 18/);
    assert.equal(await cachedCopy(copy.native, { cache: copy.cache }), cached);
    assert.deepEqual(await readdir(copy.cache), [cached.slice(copy.cache.length + 1)]);
    await chown(cached, NOBODY.uid, NOBODY.gid);
    await assert.rejects(cachedCopy(copy.native, { cache: copy.cache }), Unfit);
  },
);

/** A copy of the installed package in a folder closed to others, and an open folder for a cache. */
async function packageCopy() {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-package-"));
  const cache = await mkdtemp(join(tmpdir(), "posthorn-cache-"));
  await chmod(cache, 0o755);
  await cp(join(bundledPackage().native, ".."), join(folder, "package"), {
    recursive: true,
    verbatimSymlinks: true,
  });
  return {
    native: join(folder, "package", "native"),
    cache,
    async [Symbol.asyncDispose]() {
      for (const path of [folder, cache]) await rm(path, { recursive: true, force: true });
    },
  };
}
