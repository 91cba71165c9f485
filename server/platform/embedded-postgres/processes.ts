import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "#platform/light";

/**
 * The name in the command lines of a cluster's processes, which any user can read even in a
 * container that hides everything else about other users' processes. It is derived from the
 * folder's device and inode, so that a copied folder never passes for the original.
 */
export async function clusterNameOf(cluster: string): Promise<string> {
  const { dev, ino } = await stat(cluster, { bigint: true });
  return `posthorn-${dev}-${ino}`;
}

/** Every process of the cluster: the postmaster, and any that outlived it. */
export async function clusterProcesses(clusterName: string): Promise<number[]> {
  const lines = process.platform === "linux" ? await procCommandLines() : await psCommandLines();
  return lines.filter(({ text }) => belongsTo(text, clusterName)).map(({ pid }) => pid);
}

/** Whether `pid` may be a PostgreSQL on this cluster that we did not start. */
export async function isStrangerOn(cluster: string, pid: number): Promise<boolean> {
  const lines =
    process.platform === "linux" ? [await procCommandLine(pid)] : await psCommandLines();
  const text = lines.find((line) => line.pid === pid)?.text ?? "";
  if (!IS_POSTGRES.test(text) || /posthorn-\d+-\d+/.test(text)) return false;
  const theirs = await stat(`/proc/${pid}/cwd`, { bigint: true }).catch(() => undefined);
  if (theirs === undefined) return true;
  const ours = await stat(cluster, { bigint: true });
  return theirs.ino === ours.ino && theirs.dev === ours.dev;
}

/** Whether any process has this pid, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** Never fails: a process that is gone needs no signal. */
export function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It ended between the listing and the signal.
    }
  }
}

type CommandLine = { pid: number; text: string };

/** The postmaster shows its arguments. Its children show a title with the cluster's name. */
function belongsTo(text: string, clusterName: string): boolean {
  const isChild = text.startsWith(`postgres: ${clusterName}: `);
  return (
    isChild || (IS_POSTGRES.test(text) && `${text} `.includes(` cluster_name=${clusterName} `))
  );
}

const IS_POSTGRES = /(^|\/)postgres(:| |$)/;

async function procCommandLines(): Promise<CommandLine[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => procCommandLine(Number(pid))));
}

/** Empty for a process that is gone, or that has ended but was not yet reaped. */
async function procCommandLine(pid: number): Promise<CommandLine> {
  const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return { pid, text: text.replaceAll("\0", " ").trimEnd() };
}

async function psCommandLines(): Promise<CommandLine[]> {
  if (process.platform === "win32") return [];
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,command="], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split("\n").map((line) => {
    const [, pid, text] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return { pid: Number(pid), text: text ?? "" };
  });
}
