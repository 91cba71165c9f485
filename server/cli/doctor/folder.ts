import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { freeBytes, KEY_FILE, NEEDED_BYTES, pathsIn, type Secret } from "#platform";
import { type Check, fault, ok, warning } from "./check.ts";

type Folder = { dataDir: string };

const LITTLE_BYTES = 2 * 1024 * 1024 * 1024;

const FREE_UP = "Free up space on that disk, or move DATA_DIR to another.";

export async function checkDisk({ dataDir }: Folder): Promise<Check> {
  const free = await freeBytes(dataDir);
  const message = `${Math.floor(free / 1024 / 1024)} MB are free on the disk of ${dataDir}.`;
  // Below this the next start would be refused.
  if (free < NEEDED_BYTES) return fault("free disk", message, FREE_UP);
  return free < LITTLE_BYTES ? warning("free disk", message, FREE_UP) : ok("free disk", message);
}

/** Whether the embedded database has been created. */
export async function hasCluster({ dataDir }: Folder): Promise<boolean> {
  return (await modeOf(join(pathsIn(dataDir).cluster, "PG_VERSION"))) !== undefined;
}

export async function hasKeyFile({ dataDir }: Folder): Promise<boolean> {
  return (await modeOf(join(dataDir, KEY_FILE))) !== undefined;
}

/** Whether a start without the present SECRET_KEY would find a different key in the folder. */
export async function holdsAnotherKey(
  { dataDir }: Folder,
  secretKey: Secret | undefined,
): Promise<boolean> {
  // A file that is missing, or that only the service may read, cannot be compared.
  const kept = await readFile(join(dataDir, KEY_FILE), "utf8").catch(() => undefined);
  if (!secretKey || kept === undefined) return false;
  const given = secretKey.reveal();
  return !Buffer.from(given, "base64").equals(Buffer.from(kept, "base64"));
}

/** `secretsFile` is one that holds secrets besides those in the folder. */
export async function checkPermissions({
  dataDir,
  secretsFile,
}: Folder & { secretsFile?: string | undefined }): Promise<Check> {
  if (process.platform === "win32") return ok("file permissions", "Not checked on Windows.");
  const open: string[] = [];
  const kept = [join(dataDir, KEY_FILE), pathsIn(dataDir).password];
  for (const path of secretsFile === undefined ? kept : [...kept, secretsFile]) {
    const mode = await modeOf(path);
    if (mode !== undefined && (mode & 0o077) !== 0) open.push(path);
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
  return ok("file permissions", "Only their owner can read secrets.");
}

/** Undefined if there is no such file; if we are not allowed to look, it may well exist. */
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
