/** The processor time and memory of processes, from Linux's /proc. */
import { readdir, readFile } from "node:fs/promises";

/** Seconds of processor time in total, and in the kernel. */
export type Used = { all: number; system: number };

const TICKS_PER_SECOND = 100;

/** A process and its children. */
export async function familyOf(pid: number): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(async (each) => ({ each, stat: await statOf(each) })));
  return [pid, ...stats.filter(({ stat }) => Number(stat[1]) === pid).map(({ each }) => each)];
}

export async function parentOf(pid: number): Promise<number> {
  const [, parent] = await statOf(pid);
  if (parent === undefined) throw new Error(`There is no process ${pid} on this machine.`);
  return Number(parent);
}

/** The total of all these processes; one that has ended counts as zero. */
export async function usedBy(pids: number[]): Promise<Used> {
  const stats = await Promise.all(pids.map(statOf));
  const secondsOf = (field: number) =>
    stats.reduce((sum, stat) => sum + Number(stat[field] ?? 0) / TICKS_PER_SECOND, 0);
  return { all: secondsOf(11) + secondsOf(12), system: secondsOf(12) };
}

/** Resident memory in megabytes: now, and the highest so far. */
export async function memoryOf(pid: number): Promise<{ now: number; peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const megabytes = (field: string) =>
    Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024;
  return { now: megabytes("VmRSS"), peak: megabytes("VmHWM") };
}

/** The fields of /proc/PID/stat after the name: state, parent, … */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
