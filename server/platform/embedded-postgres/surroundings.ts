import { constants } from "node:fs";
import { access, readdir, readFile, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { bundledPackage } from "./binaries.ts";
import { MAJOR_VERSION, pathsIn } from "./paths.ts";
import { Unfit } from "./unfit.ts";

/** Enough for a new cluster and its first WAL. With less, PostgreSQL may stop during a write. */
export const NEEDED_BYTES = 200 * 1024 * 1024;

/** Throws `Unfit` if an embedded PostgreSQL cannot run in `dataDir`. Changes nothing. */
export async function checkSurroundings(dataDir: string): Promise<void> {
  bundledPackage();
  await checkWritable(dataDir);
  await checkFreeSpace(dataDir);
  await checkVersion(pathsIn(dataDir).cluster);
}

async function checkWritable(dataDir: string): Promise<void> {
  const folder = await nearestExisting(dataDir);
  if (!(await stat(folder)).isDirectory()) {
    throw new Unfit(
      `The data folder ${dataDir} cannot be made: ${folder} is not a folder. Set DATA_DIR.`,
    );
  }
  await access(folder, constants.W_OK | constants.X_OK).catch(() => {
    throw new Unfit(
      `The data folder ${dataDir} is not writable. Give this user the right to write to ${folder}, or set DATA_DIR to another folder.`,
    );
  });
}

export async function checkFreeSpace(dataDir: string, neededBytes = NEEDED_BYTES): Promise<void> {
  const free = await freeBytes(dataDir);
  if (free < neededBytes) {
    throw new Unfit(
      `The disk that holds ${dataDir} is nearly full: ${megabytes(free)} MB are free, ${megabytes(neededBytes)} MB are needed. Make room, or set DATA_DIR to another disk.`,
    );
  }
}

/** Free space on the disk that holds `dataDir`, or will hold it. */
export async function freeBytes(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(await nearestExisting(dataDir));
  return bavail * bsize;
}

async function checkVersion(cluster: string): Promise<void> {
  const version = await readFile(`${cluster}/PG_VERSION`, "utf8").catch(missing);
  if (version === undefined) {
    const files = await readdir(cluster).catch(missing);
    if (files === undefined || files.length === 0) return;
    throw new Unfit(
      `${cluster} is no data folder of PostgreSQL. Move it away, or set DATA_DIR to another folder.`,
    );
  }
  if (version.trim() === MAJOR_VERSION) return;
  throw new Unfit(
    `${cluster} was made by PostgreSQL ${version.trim()}, and this version of Posthorn brings PostgreSQL ${MAJOR_VERSION}. Dump it with the old version and restore it, or set DATA_DIR to another folder.`,
  );
}

/** Undefined if the file does not exist. A folder that this user may not read makes it `Unfit`. */
function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  if (error.code !== "EACCES") throw error;
  throw new Unfit(
    `${error.path} belongs to another user. Start Posthorn as that user, or set DATA_DIR to another folder.`,
  );
}

/** `path` itself, or the folder in which it would be made. */
async function nearestExisting(path: string): Promise<string> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new Unfit(
      `The data folder ${path} cannot be reached (${error.code}). Set DATA_DIR to another folder.`,
    );
  });
  return found === undefined ? nearestExisting(dirname(path)) : path;
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}
