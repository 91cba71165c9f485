import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Unfit } from "./unfit.ts";

/** Readable by every user, writable only by root. */
const CACHE = "/var/cache/posthorn";

/**
 * A copy of the programs that any user can read. The installed ones may be in a folder that is
 * closed to the user that PostgreSQL runs as, such as root's home. There is one copy per version,
 * made once.
 */
export async function cachedCopy(
  native: string,
  { cache = CACHE, anew = false } = {},
): Promise<string> {
  await mkdir(cache, { recursive: true, mode: 0o755 });
  await refuseForeign(cache);
  const copy = join(cache, await copyName(native));
  if (anew) await rm(copy, { recursive: true, force: true });
  if (!(await exists(copy))) await makeCopy(native, copy);
  await refuseForeign(copy);
  return copy;
}

async function copyName(native: string): Promise<string> {
  const folder = dirname(native);
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    version: string;
  };
  return `postgresql-${version}-${basename(folder)}`;
}

/** The copy gets its final name once it is complete, so a crash leaves all of it or nothing. */
async function makeCopy(native: string, copy: string): Promise<void> {
  const unfinished = await mkdtemp(`${copy}.new-`);
  try {
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await openToAll(unfinished);
    await rename(unfinished, copy);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another process may have finished the same copy first.
    if (!(await exists(copy))) throw error;
  }
}

async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile())
      await chmod(path, basename(entry.parentPath) === "bin" ? 0o755 : 0o644);
  }
}

/** Root runs these programs, so only root may have put them here. */
async function refuseForeign(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return;
  throw new Unfit(
    `${folder} must be a folder that only root can write to. Remove it and start again.`,
  );
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
