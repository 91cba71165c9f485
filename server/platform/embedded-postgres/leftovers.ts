import { rm } from "node:fs/promises";
import type { Clock, Log } from "#platform";
import { findPostmasterFile, postmasterFileIn } from "./postmaster-file.ts";
import { clusterProcesses, isAlive, isStrangerOn, signal } from "./processes.ts";
import { Unfit } from "./unfit.ts";

const STEPS = [
  // Fast shutdown writes a checkpoint. If that takes longer, replaying the log is no slower.
  { name: "SIGINT", limitMs: 10_000 },
  // Immediate shutdown only waits for the processes to end. The next start replays the log.
  { name: "SIGQUIT", limitMs: 5_000 },
  { name: "SIGKILL", limitMs: 5_000 },
] as const;

const LOOK_EVERY_MS = 20;

type Deps = { cluster: string; clusterName: string; clock: Clock; log: Log };

/**
 * Ends what an earlier instance left running on the cluster: its PostgreSQL if the instance was
 * killed, or single processes if PostgreSQL was. The caller holds the data folder's lock, so no
 * living instance uses them.
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

/** Ends every process of the cluster, gently first. Throws if one survives even SIGKILL. */
export async function endCluster({
  cluster,
  clusterName,
  clock,
}: Omit<Deps, "log">): Promise<void> {
  const postmaster = (await findPostmasterFile(cluster))?.pid;
  for (const { name, limitMs } of STEPS) {
    const processes = await clusterProcesses(clusterName);
    const hasLeader = postmaster !== undefined && processes.includes(postmaster);
    // Without a postmaster, SIGINT only makes a child cancel its query.
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
 * After a crash, the pid in PostgreSQL's file may belong to another program, and PostgreSQL refuses
 * to start while that lives. Or the next PostgreSQL may get that very pid, and would seem ready too
 * early. Both happen in containers, where pids start over.
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
