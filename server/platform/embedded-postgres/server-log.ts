import { constants } from "node:fs";
import { copyFile, type FileHandle, open, rm } from "node:fs/promises";
import type { Clock } from "#platform";
import { cannotOpen } from "./unfit.ts";

/** PostgreSQL writes a few lines an hour. This much means that something is badly wrong. */
const MAX_BYTES = 5 * 1024 * 1024;
const LOOK_EVERY_MS = 60_000;

export type ServerLog = {
  /** PostgreSQL's standard error. It can keep writing after we are gone. */
  fd: number;
  /** What was written since `offset`. */
  since(offset: number): Promise<string>;
  size(): Promise<number>;
  close(): Promise<void>;
};

/** PostgreSQL's own log: the current file and one older one, both bounded. */
export async function openServerLog(path: string, clock: Clock): Promise<ServerLog> {
  const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW } = constants;
  // Append mode, so that PostgreSQL writes at the new end after the file was truncated.
  const flags = O_APPEND | O_CREAT | O_RDWR | (O_NOFOLLOW ?? 0);
  const file = await open(path, flags, 0o600).catch((error: NodeJS.ErrnoException) => {
    throw cannotOpen(path, error);
  });
  await keepShort(file, path);
  const stop = new AbortController();
  const watch = watchLength(file, path, { clock, signal: stop.signal });
  return {
    fd: file.fd,
    since: (offset) => readFrom(file, offset),
    size: async () => (await file.stat()).size,
    async close() {
      stop.abort();
      await watch;
      await file.close();
    },
  };
}

type Watch = { clock: Clock; signal: AbortSignal };

async function watchLength(
  file: FileHandle,
  path: string,
  { clock, signal }: Watch,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(LOOK_EVERY_MS, signal);
    // A full disk must not stop this loop: there may be room next time.
    await keepShort(file, path).catch(() => {});
  }
}

async function keepShort(file: FileHandle, path: string): Promise<void> {
  if ((await file.stat()).size <= MAX_BYTES) return;
  const older = `${path}.1`;
  await rm(older, { force: true });
  await copyFile(path, older, constants.COPYFILE_EXCL);
  await file.truncate(0);
}

async function readFrom(file: FileHandle, offset: number): Promise<string> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.max(0, size - offset));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
  return buffer.toString("utf8", 0, bytesRead);
}
