import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chown, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import {
  type DataDirLock,
  lockDataDir,
  silentLog,
  superviseEmbeddedPostgres,
  systemClock,
} from "#platform";
import { startEmbeddedPostgres } from "../../server/platform/embedded-postgres.ts";

const HOLDER = join(import.meta.dirname, "postgres-holder.ts");
const SETTINGS = { shared_buffers: "16MB" };

type User = { uid: number; gid: number };

export type DataFolder = Awaited<ReturnType<typeof dataFolder>>;

/** A data folder for one test, and the ways to run PostgreSQL on it. */
export async function dataFolder({
  copyOf = "",
  within = "",
  owner = undefined as User | undefined,
} = {}) {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-data-"));
  const path = join(folder, within, "data");
  await mkdir(path, { recursive: true });
  if (copyOf !== "") await cp(copyOf, path, { recursive: true });
  if (owner !== undefined) for (const it of [folder, path]) await chown(it, owner.uid, owner.gid);
  return {
    path,
    /** Runs PostgreSQL on it as a child of this process. */
    start: () => locked(path, startEmbeddedPostgres),
    /** The same, restarted when it dies. */
    supervise: () => locked(path, superviseEmbeddedPostgres),
    /** Runs PostgreSQL on it as a child of a process that can be killed. */
    hold: (user?: User) => hold(path, user),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

type Deps = Parameters<typeof startEmbeddedPostgres>[0];

async function locked<Postgres extends { stop(): Promise<void> }>(
  path: string,
  start: (deps: Deps) => Promise<Postgres>,
) {
  const lock: DataDirLock = lockDataDir(path);
  try {
    const postgres = await start({ lock, clock: systemClock, log: silentLog, settings: SETTINGS });
    return {
      ...postgres,
      async [Symbol.asyncDispose]() {
        await postgres.stop();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Answer = { url: string; pid: number; isNew: boolean } | { unfit: string };

async function hold(path: string, user: User | undefined) {
  const child = spawn(process.execPath, [HOLDER, path], {
    stdio: ["pipe", "pipe", "inherit"],
    ...user,
  });
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout);
  const silent = once(lines, "close").then(() => assert.fail("the holder ended without a word"));
  const [line] = await Promise.race([once(lines, "line"), silent]);
  return {
    pid: child.pid,
    answer: JSON.parse(line) as Answer,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

/** The rows of one statement, on its own connection. */
export async function ask<Row extends object>(url: string, statement: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}
