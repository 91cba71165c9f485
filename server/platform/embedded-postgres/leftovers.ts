import { rm } from "node:fs/promises";
import type { Clock, Log } from "#platform";
import { findPostmasterFile, postmasterFileIn } from "./postmaster-file.ts";
import { clusterProcesses, isStrangerOn, signal } from "./processes.ts";
import { Unfit } from "./unfit.ts";

const STEPS = [
  // Fast shutdown writes a checkpoint; past this the disk is slow, and replaying the log is no slower.
  { name: "SIGINT", limitMs: 10_000 },
  // Immediate shutdown only waits for the processes to end; the next start replays the log.
  { name: "SIGQUIT", limitMs: 5_000 },
  { name: "SIGKILL", limitMs: 5_000 },
] as const;

const LOOK_EVERY_MS = 20;

type Deps = { cluster: string; clusterName: string; clock: Clock; log: Log };

/**
 * Ends what an earlier instance left on the cluster: its PostgreSQL when it was killed itself, or
 * single processes when PostgreSQL was. The caller holds the data folder's lock, so no living
 * instance uses them.
 */
export async function clearLeftovers(deps: Deps): Promise<void> {
  const { cluster, clusterName, log } = deps;
  const processes = await clusterProcesses(clusterName);
  if (processes.length > 0) {
    log.warn({ processes }, "ending the PostgreSQL that an earlier instance left behind");
    await endCluster(deps);
  }
  await forgetPid(cluster);
}

/** Ends every process of the cluster, gently first. Throws when one survives even that. */
export async function endCluster({
  cluster,
  clusterName,
  clock,
}: Omit<Deps, "log">): Promise<void> {
  const postmaster = (await findPostmasterFile(cluster))?.pid;
  for (const { name, limitMs } of STEPS) {
    const processes = await clusterProcesses(clusterName);
    const hasLeader = postmaster !== undefined && processes.includes(postmaster);
    // To a child without a postmaster SIGINT only means to give up its query.
    if (name === "SIGINT" && !hasLeader) continue;
    signal(hasLeader && name !== "SIGKILL" ? [postmaster] : processes, name);
    if (await allGone(clusterName, limitMs, clock)) return;
  }
  const [pid] = await clusterProcesses(clusterName);
  throw new Unfit(
    `PostgreSQL process ${pid} does not end and still uses ${cluster}. End it, or restart the machine.`,
  );
}

async function allGone(clusterName: string, limitMs: number, clock: Clock): Promise<boolean> {
  const until = clock.monotonicMs() + limitMs;
  while ((await clusterProcesses(clusterName)).length > 0) {
    if (clock.monotonicMs() > until) return false;
    await clock.sleep(LOOK_EVERY_MS);
  }
  return true;
}

/**
 * After a crash the pid in PostgreSQL's file may be another program's by now, and PostgreSQL would
 * not start while it lives; or the next PostgreSQL may get it itself, and would pass for ready before
 * it is. Both happen in containers, where numbers begin anew.
 */
async function forgetPid(cluster: string): Promise<void> {
  const file = await findPostmasterFile(cluster);
  if (file !== undefined && isAlive(file.pid) && (await isStrangerOn(cluster, file.pid))) {
    throw new Unfit(
      `A PostgreSQL that Posthorn did not start (pid ${file.pid}) uses ${cluster}. Stop it first.`,
    );
  }
  await rm(postmasterFileIn(cluster), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
