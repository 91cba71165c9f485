import { DATABASE, findPassword, USER } from "./cluster.ts";
import { pathsIn } from "./paths.ts";
import { findPostmasterFile } from "./postmaster-file.ts";
import { clusterNameOf, clusterProcesses } from "./processes.ts";
import { Unfit } from "./unfit.ts";

export type RunningPostgres = { url: string; port: number; pid: number };

/** The PostgreSQL that serves this data folder now, for commands beside a running service. */
export async function findRunningPostgres(dataDir: string): Promise<RunningPostgres | undefined> {
  const paths = pathsIn(dataDir);
  const clusterName = await clusterNameOf(paths.cluster).catch(unreadable);
  const file = await findPostmasterFile(paths.cluster);
  if (clusterName === undefined || !file?.isReady) return undefined;
  const processes = await clusterProcesses(clusterName);
  const password = await findPassword(paths);
  // If its process is gone, the file was left by a crash.
  if (!processes.includes(file.pid) || password === undefined) return undefined;
  return { url: urlOf(file.port, password), port: file.port, pid: file.pid };
}

export function urlOf(port: number, password: string): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

function unreadable(error: NodeJS.ErrnoException): undefined {
  // Below a file there is nothing either. Who goes on to take the folder is told what is wrong.
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw new Unfit(
    `${error.path} cannot be read (${error.code}). Run this as the user that runs Posthorn.`,
  );
}
