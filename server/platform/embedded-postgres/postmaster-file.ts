import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What a running PostgreSQL says about itself in its data folder. */
export type PostmasterFile = { pid: number; port: number; isReady: boolean };

export function postmasterFileIn(cluster: string): string {
  return join(cluster, "postmaster.pid");
}

/** Undefined if there is no such file. After a crash, the file may outlive its PostgreSQL. */
export async function findPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(postmasterFileIn(cluster), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // One fact per line: pid, folder, start, port, socket folder, address, shared memory, state.
  const lines = text.split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!(pid > 0)) return undefined;
  // A standby that accepts connections reports "standby".
  return { pid, port, isReady: /^(ready|standby)$/.test(lines[7]?.trim() ?? "") };
}

/** PostgreSQL keeps the options of its last start in this file. */
export async function findLastPort(cluster: string): Promise<number | undefined> {
  const options = await readFile(join(cluster, "postmaster.opts"), "utf8").catch(() => "");
  const port = Number(/\bport=(\d+)/.exec(options)?.[1]);
  return port > 0 && port < 65_536 ? port : undefined;
}
