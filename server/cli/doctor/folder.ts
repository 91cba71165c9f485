import { readFile, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KEY_FILE, type Secret } from "#platform";
import { type Check, fault, ok, warning } from "./check.ts";

type Folder = { dataDir: string };

/** Below this PostgreSQL may stop amid a write, and the next start is refused. */
const LEAST_BYTES = 200 * 1024 * 1024;
const LITTLE_BYTES = 2 * 1024 * 1024 * 1024;

const FREE_UP = "Make room on that disk, or set DATA_DIR to another.";

export async function checkDisk({ dataDir }: Folder): Promise<Check> {
  const { bavail, bsize } = await statfs(await nearestExisting(dataDir));
  const free = `${Math.floor((bavail * bsize) / 1024 / 1024)} MB are free on the disk of ${dataDir}.`;
  if (bavail * bsize < LEAST_BYTES) return fault("free disk", free, FREE_UP);
  if (bavail * bsize < LITTLE_BYTES) return warning("free disk", free, FREE_UP);
  return ok("free disk", free);
}

/** Whether the embedded database has been made yet. */
export async function hasCluster({ dataDir }: Folder): Promise<boolean> {
  return (await modeOf(join(dataDir, "postgresql", "PG_VERSION"))) !== undefined;
}

export async function hasKeyFile({ dataDir }: Folder): Promise<boolean> {
  return (await modeOf(join(dataDir, KEY_FILE))) !== undefined;
}

/** Whether a start without the SECRET_KEY that is set would find another in its place. */
export async function holdsAnotherKey(
  { dataDir }: Folder,
  secretKey: Secret | undefined,
): Promise<boolean> {
  if (!secretKey || !(await hasKeyFile({ dataDir }))) return false;
  const [given, kept] = [secretKey.reveal(), await readFile(join(dataDir, KEY_FILE), "utf8")];
  return !Buffer.from(given, "base64").equals(Buffer.from(kept, "base64"));
}

/** Files that only the service's own user may read. */
const SECRET_FILES = [KEY_FILE, "postgresql.password"];

export async function checkPermissions({ dataDir }: Folder): Promise<Check> {
  if (process.platform === "win32") return ok("file permissions", "Windows keeps them elsewhere.");
  const open: string[] = [];
  for (const name of SECRET_FILES) {
    const mode = await modeOf(join(dataDir, name));
    if (mode !== undefined && (mode & 0o077) !== 0) open.push(join(dataDir, name));
  }
  if (open.length > 0) {
    const fix = `Close them to others: chmod 600 ${open.join(" ")}`;
    return fault("file permissions", `Others may read ${open.join(" and ")}.`, fix);
  }
  const folderMode = await modeOf(dataDir);
  if (folderMode !== undefined && (folderMode & 0o022) !== 0) {
    const fix = `Close it to others: chmod 700 ${dataDir}`;
    return warning("file permissions", `Others may write to ${dataDir}.`, fix);
  }
  return ok("file permissions", "Secrets are readable by their owner alone.");
}

/** Undefined where there is no such file; what cannot be seen may well be there. */
async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new Error(
      `${path} cannot be seen (${code}). Run this as the user that runs Posthorn, or correct DATA_DIR.`,
      { cause: error },
    );
  }
}

async function nearestExisting(path: string): Promise<string> {
  return (await modeOf(path)) === undefined && dirname(path) !== path
    ? nearestExisting(dirname(path))
    : path;
}
