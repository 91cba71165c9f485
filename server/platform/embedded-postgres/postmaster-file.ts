import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What a running PostgreSQL says of itself in its data folder. */
export type PostmasterFile = { pid: number; port: number; isReady: boolean };

export function postmasterFileIn(cluster: string): string {
  return join(cluster, "postmaster.pid");
}

/** Undefined where no PostgreSQL runs or died; a crash may leave the file of one that is gone. */
export async function findPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(postmasterFileIn(cluster), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // One fact a line: pid, folder, start, port, socket folder, address, shared memory, state.
  const lines = text.split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!(pid > 0)) return undefined;
  // A standby that takes connections calls itself that.
  return { pid, port, isReady: /^(ready|standby)$/.test(lines[7]?.trim() ?? "") };
}

/** PostgreSQL leaves the options that it was started with. */
export async function findLastPort(cluster: string): Promise<number | undefined> {
  const options = await readFile(join(cluster, "postmaster.opts"), "utf8").catch(() => "");
  const port = Number(/\bport=(\d+)/.exec(options)?.[1]);
  return port > 0 && port < 65_536 ? port : undefined;
}
