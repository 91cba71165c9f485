import { randomBytes } from "node:crypto";
import { chown, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Account } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import type { Paths } from "./paths.ts";
import { run } from "./run.ts";
import { Unfit } from "./unfit.ts";

export const USER = "posthorn";
export const DATABASE = "posthorn";

/** Connections come over loopback with the password, or not at all. */
const ACCESS = "host all all 127.0.0.1/32 scram-sha-256\n";

type Deps = { paths: Paths; binaries: Binaries; account: Account | undefined };

/** Makes the cluster on first use and answers its password. A crash at any point leaves none or a whole one. */
export async function openCluster(deps: Deps): Promise<{ password: string; isNew: boolean }> {
  const { paths, account } = deps;
  const isNew = !(await exists(join(paths.cluster, "PG_VERSION")));
  const known = await findPassword(paths);
  const password = known ?? randomBytes(24).toString("base64url");
  // The password is on disk before the cluster that needs it.
  if (known === undefined) await keepPassword(paths, password);
  if (isNew) await makeCluster(deps, password);
  else {
    await own(paths.cluster, account);
    if (known === undefined) await singleUser(deps, paths.cluster, [setPassword(password)]);
  }
  return { password, isNew };
}

/** The folder as PostgreSQL sees it. Linux needs no right to the folders above its own, nor their names. */
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
  return text?.trim();
}

/** Renamed into place: a crash never leaves an empty password. */
async function keepPassword({ password: path, dataDir }: Paths, password: string): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await writeFile(unfinished, `${password}\n`, { mode: 0o600, flag: "wx", flush: true });
  await rename(unfinished, path);
  await syncFolder(dataDir);
}

async function makeCluster(deps: Deps, password: string): Promise<void> {
  const { paths, binaries, account } = deps;
  // What an interrupted start left behind.
  await rm(paths.newCluster, { recursive: true, force: true });
  await mkdir(paths.newCluster, { mode: 0o700 });
  await own(paths.newCluster, account);

  await run(binaries.initdb, initdbArguments(paths.newCluster), {
    account,
    folder: paths.newCluster,
  });
  await writeFile(join(paths.newCluster, "pg_hba.conf"), ACCESS, { flush: true });
  await singleUser(deps, paths.newCluster, [setPassword(password), `create database ${DATABASE}`]);

  await rename(paths.newCluster, paths.cluster);
  await syncFolder(paths.dataDir);
}

function initdbArguments(cluster: string): string[] {
  return [
    `--pgdata=${folderArgument(cluster)}`,
    `--username=${USER}`,
    "--auth=reject",
    "--encoding=UTF8",
    // Order and case come from PostgreSQL itself: the same on every system, whatever its locales.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--data-checksums",
    "--no-instructions",
  ];
}

/** PostgreSQL without a server, on a cluster that nobody uses: no connection, so no password. */
async function singleUser(deps: Deps, cluster: string, statements: string[]): Promise<void> {
  const { account, binaries } = deps;
  // With -j a statement ends at a semicolon and an empty line.
  const input = statements.map((statement) => `${statement};\n\n`).join("");
  const args = ["--single", "-j", "-D", folderArgument(cluster), "postgres"];
  await run(binaries.postgres, args, { account, folder: cluster, input });
}

/** The password is base64url, so it needs no quoting. */
function setPassword(password: string): string {
  return `alter role ${USER} password '${password}'`;
}

async function own(folder: string, account: Account | undefined): Promise<void> {
  if (account === undefined) return;
  await chown(folder, account.uid, account.gid).catch((error: NodeJS.ErrnoException) => {
    throw new Unfit(
      `${folder} cannot be given to the user that runs PostgreSQL (${error.code}). Start Posthorn as an ordinary user, or set DATA_DIR to a local disk.`,
    );
  });
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
