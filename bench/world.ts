/**
 * The environment of a benchmark: an embedded PostgreSQL of its own in a temporary folder, or the
 * empty local database that BENCH_DATABASE_URL names, migrated; and the processes beside it. All of
 * it ends with the benchmark, even if interrupted or if its output is no longer read, as by head.
 * What was written to a named database stays there.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAccount } from "#credits";
import { setRoute } from "#messages";
import {
  type Database,
  keepYoungObjectsYoung,
  lockDataDir,
  migrate,
  openDatabase,
  type SecretBox,
  secretBox,
  silentLog,
  sql,
  systemClock as clock,
} from "#platform";
import { startEmbeddedPostgres } from "../server/platform/embedded-postgres.ts";
import { makeCarrier } from "../test/support/make-carrier.ts";
import { makeKey } from "../test/support/make-key.ts";
import { freePort } from "../test/support/process.ts";
import type { Job, Result } from "./load.ts";
import { familyOf, parentOf, usedBy } from "./processor-time.ts";

export type World = {
  /** Only the database's own files are in it at first; removed at the end. */
  folder: string;
  databaseUrl: string;
  databasePid: number;
  secrets: SecretBox;
  /** Closed at the end if it was not closed before. */
  openDatabase(options: DatabaseOptions): Database;
  /** Starts a file of this folder as a process, which first reports its port. */
  startChild(file: string, args?: string[]): Promise<Child>;
  /** Starts the real service on this database, with rate limits that a load does not reach. */
  startService(settings?: Record<string, string>, flags?: string[]): Promise<Child>;
  spawn(command: string, args: string[]): ChildProcess;
  load(job: Job): Promise<Result>;
};
export type Child = { child: ChildProcess; pid: number; port: number };

type DatabaseOptions = Omit<Parameters<typeof openDatabase>[0], "url" | "log">;
/** Run in reverse order of registration. `isEarly` if a clean end is not worth waiting for. */
type End = (isEarly: boolean) => Promise<unknown>;

/** A service first finishes what is in flight, and writes its profile. */
const PATIENCE_MS = 30_000;
const SERVICE = new URL("../server/main.ts", import.meta.url).pathname;
/** The same as in `npm start`. */
const FLAGS = ["--max-semi-space-size=64"];
const ACTOR = "bench";

/** Runs the benchmark in an environment of its own, and removes that however it ends. */
export async function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  keepYoungObjectsYoung();
  const ends: End[] = [];
  let ending: Promise<void> | undefined;
  const end = (isEarly: boolean) => (ending ??= runBackwards(ends, isEarly));
  endOnSignals(() => end(true));
  try {
    await run(await openWorld(ends));
  } catch (error) {
    // Failures after the teardown has begun are caused by it.
    if (ending === undefined) throw error;
  } finally {
    await end(false);
  }
}

async function runBackwards(ends: End[], isEarly: boolean): Promise<void> {
  for (const end of ends.toReversed()) await end(isEarly).catch(console.error);
}

/** Handlers stay: terminal and npm both pass on Ctrl-C, and the second must not cut the end off. */
function endOnSignals(end: () => Promise<void>): void {
  let isLeaving = false;
  const leave = (code: number) => {
    if (isLeaving) return;
    isLeaving = true;
    void end().finally(() => process.exit(code));
  };
  process.on("SIGINT", () => leave(130));
  process.on("SIGTERM", () => leave(143));
  process.on("SIGHUP", () => leave(129));
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => leave(141));
  process.on("uncaughtException", (error) => {
    if (!isLeaving) console.error(error);
    leave(1);
  });
}

async function openWorld(ends: End[]): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-bench-"));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  const named = process.env["BENCH_DATABASE_URL"];
  const postgres = named ? await findPostgres(named) : await startOwnPostgres(folder, ends);
  await migrate(postgres.url);
  const key = randomBytes(32);
  const env = {
    ...process.env,
    DATABASE_URL: postgres.url,
    DATA_DIR: folder,
    SECRET_KEY: key.toString("base64"),
    WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
    WEBHOOK_ALLOW_HTTP: "true",
    RATE_LIMIT_SENDS: "1000000",
    RATE_LIMIT_SENDS_BURST: "1000000",
    LOG_LEVEL: "warn",
  };
  const keep = (child: ChildProcess) => {
    ends.push((isEarly) => stopChild(child, isEarly ? "SIGKILL" : "SIGTERM"));
    return child;
  };

  return {
    folder,
    databaseUrl: postgres.url,
    databasePid: postgres.pid,
    secrets: secretBox(key),
    openDatabase(options) {
      const db = openDatabase({ ...options, url: postgres.url, log: silentLog });
      let closing: Promise<void> | undefined;
      const close = () => (closing ??= db.close());
      // Closing would wait for running statements; on an early end, the database's end closes it.
      ends.push((isEarly) => (isEarly ? Promise.resolve() : close()));
      return { ...db, close };
    },
    async startChild(file, args = []) {
      const child = keep(
        fork(new URL(file, import.meta.url), args, { execArgv: [...process.execArgv, ...FLAGS] }),
      );
      const [port] = (await once(child, "message")) as [number];
      return { child, pid: child.pid ?? 0, port };
    },
    async startService(settings = {}, flags = []) {
      const port = await freePort();
      const child = spawn(process.execPath, [...FLAGS, ...flags, SERVICE, "start"], {
        env: { ...env, PORT: String(port), ...settings },
        stdio: ["ignore", "ignore", "inherit"],
      });
      await isReady(keep(child), port);
      return { child, pid: child.pid ?? 0, port };
    },
    spawn: (command, args) =>
      keep(spawn(command, args, { env, stdio: ["ignore", "inherit", "inherit"] })),
    async load(job) {
      const file = new URL("./load.ts", import.meta.url).pathname;
      const args = [file, "--job", JSON.stringify(job)];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      keep(child);
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      await once(child, "close");
      if (output === "") throw new Error("The load ended without a result.");
      return JSON.parse(output) as Result;
    },
  };
}

type Postgres = { url: string; pid: number };

async function startOwnPostgres(folder: string, ends: End[]): Promise<Postgres> {
  const lock = lockDataDir(folder);
  const starting = startEmbeddedPostgres({ lock, clock, log: silentLog });
  // Registered before it has started, so that an interruption during the start stops it too.
  ends.push(async () => {
    await starting.then((postgres) => postgres.stop()).catch(() => undefined);
    lock.release();
  });
  return starting;
}

async function findPostgres(url: string): Promise<Postgres> {
  const db = openDatabase({ url, log: silentLog, maxConnections: 1 });
  try {
    const [row] = await db.query<{ pid: number; tables: number }>(sql`
      select pg_backend_pid() as pid, count(*) as tables from pg_tables where schemaname = 'public'`);
    if (row?.tables !== 0) throw new Error("BENCH_DATABASE_URL names a database with tables.");
    return { url, pid: await parentOf(row.pid) };
  } finally {
    await db.close();
  }
}

async function isReady(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    const ok = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    if (hasEnded(child)) throw new Error("The service does not start.");
    await clock.sleep(50);
  }
}

export async function stopChild(
  child: ChildProcess,
  signal: "SIGTERM" | "SIGKILL" = "SIGTERM",
): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const ended = once(child, "exit");
  child.kill(signal);
  const cancel = clock.timer(PATIENCE_MS, () => void child.kill("SIGKILL"));
  await ended;
  cancel();
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** The database's processor time so far. */
export async function databaseSeconds({ databasePid }: World): Promise<number> {
  return (await usedBy(await familyOf(databasePid))).all;
}

export type Account = { accountId: string; signingSecret: string; key: string };

/** Accounts with credits for any load, each with a key. */
export async function makeAccounts(
  db: Database,
  { secrets }: World,
  count: number,
): Promise<Account[]> {
  const accounts: Account[] = [];
  for (let n = 0; n < count; n += 1) {
    const by = { actor: ACTOR, now: clock.now() };
    const wish = { name: `bench ${n}`, credits: 1e9, secrets, ...by };
    const { accountId, signingSecret } = await openAccount(db, wish);
    const { key } = await makeKey(db, { accountId, scopes: ["messages:send"] });
    accounts.push({ accountId, signingSecret, key });
  }
  return accounts;
}

/** Adds a carrier and routes all messages to it; returns its id. */
export async function addSmsc(db: Database, { secrets }: World, port: number): Promise<string> {
  const by = { actor: ACTOR, now: clock.now() };
  const carrierId = await makeCarrier(db, { settings: { port, window: 500, rate: 0 }, secrets });
  await setRoute(db, { prefix: "", carrierIds: [carrierId] }, by);
  return carrierId;
}
