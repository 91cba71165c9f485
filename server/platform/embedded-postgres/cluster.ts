import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { Account } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import type { Paths } from "./paths.ts";
import { run } from "./run.ts";
import { syncFolder } from "./sync-folder.ts";
import { Unfit } from "./unfit.ts";

export const USER = "posthorn";
export const DATABASE = "posthorn";

/** Only connections over loopback and with the password are accepted. */
const ACCESS = "host all all 127.0.0.1/32 scram-sha-256\n";

type Deps = { paths: Paths; binaries: Binaries; account: Account | undefined };

/** Makes the cluster on first use; returns whether it did. A crash leaves a whole one or none. */
export async function makeClusterOnce(deps: Deps): Promise<boolean> {
  const { paths, account } = deps;
  const isNew = !existsSync(join(paths.cluster, "PG_VERSION"));
  if (isNew) await makeCluster(deps);
  else await giveTo(account, paths.cluster);
  return isNew;
}

/** If the password is lost, the cluster gets a new one. Nobody may be using the cluster. */
export async function openPassword(deps: Deps): Promise<string> {
  const known = await findPassword(deps.paths);
  if (known !== undefined) return known;
  const password = newPassword();
  // A crash between these lines leaves the password unknown, and the next start comes here again.
  await singleUser(deps, deps.paths.cluster, setPassword(password));
  await keepPassword(deps.paths, password);
  return password;
}

/** The folder as PostgreSQL sees it. On Linux it needs no access to the parent folders. */
export function folderArgument(cluster: string): string {
  return process.platform === "linux" ? "/proc/self/cwd" : cluster;
}

export async function findPassword(paths: Paths): Promise<string | undefined> {
  const text = await readFile(paths.password, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Unfit(
      `${paths.password} cannot be read (${error.code}). Run this as the user that runs Posthorn.`,
    );
  });
  return text?.trim() || undefined;
}

/** Written aside and renamed, so that a crash never leaves an empty password. */
async function keepPassword({ password: path, dataDir }: Paths, password: string): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await writeFile(unfinished, `${password}\n`, { mode: 0o600, flag: "wx", flush: true });
  await rename(unfinished, path);
  await syncFolder(dataDir);
}

async function makeCluster(deps: Deps): Promise<void> {
  const { paths, binaries, account } = deps;
  const password = newPassword();
  // Removes what an interrupted start left behind.
  await rm(paths.newCluster, { recursive: true, force: true, maxRetries: 5 });
  await mkdir(paths.newCluster, { mode: 0o700 });
  await giveTo(account, paths.newCluster);

  const site = { account, folder: paths.newCluster };
  await run(binaries.initdb, initdbArguments(paths.newCluster), site);
  await writeFile(join(paths.newCluster, "pg_hba.conf"), ACCESS, { flush: true });
  await singleUser(deps, paths.newCluster, [
    ...setPassword(password),
    `create database ${DATABASE}`,
  ]);

  await keepPassword(paths, password);
  // A crash before this leaves no cluster, and a password that the next start replaces.
  await rename(paths.newCluster, paths.cluster);
  await syncFolder(paths.dataDir);
}

function initdbArguments(cluster: string): string[] {
  return [
    `--pgdata=${folderArgument(cluster)}`,
    `--username=${USER}`,
    "--auth=reject",
    "--encoding=UTF8",
    // Sort order and case rules are PostgreSQL's own: the same on all systems, whatever the locale.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--data-checksums",
    "--no-instructions",
  ];
}

/** PostgreSQL in single-user mode, on a cluster that nobody uses: it needs no password. */
async function singleUser(deps: Deps, cluster: string, statements: string[]): Promise<void> {
  const { account, binaries } = deps;
  // With -j, a statement ends at a semicolon followed by an empty line.
  const input = statements.map((statement) => `${statement};\n\n`).join("");
  const args = ["--single", "-j", "-D", folderArgument(cluster), "postgres"];
  await run(binaries.postgres, args, { account, folder: cluster, input });
}

function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

/**
 * The password is base64url, so it needs no quotes. Nobody can guess 192 random bits: more SCRAM
 * iterations would only add 2 ms to every connection.
 */
function setPassword(password: string): string[] {
  return ["set scram_iterations = 1", `alter role ${USER} password '${password}'`];
}

/** PostgreSQL wants a folder that its user owns, closed to others. A restored one may differ. */
async function giveTo(account: Account | undefined, folder: string): Promise<void> {
  try {
    if (account !== undefined && (await stat(folder)).uid !== account.uid)
      await chownAll(account, folder);
    await chmod(folder, 0o700);
  } catch (error) {
    throw new Unfit(
      `${folder} cannot be given to the user that runs PostgreSQL (${String(error)}). Start Posthorn as the folder's owner, or set DATA_DIR to a local disk.`,
      { cause: error },
    );
  }
}

async function chownAll({ uid, gid }: Account, folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true });
  for (const name of [...names, "."]) await lchown(join(folder, name), uid, gid);
}
