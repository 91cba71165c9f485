import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { glob, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findRunningPostgres, lockDataDir, silentLog, systemClock } from "#platform";
import { startEmbeddedPostgres } from "../../server/platform/embedded-postgres.ts";

/** `npm test` sets it for the test files that it runs. */
const URL_VARIABLE = "TEST_DATABASE_URL";
const KEEPER = fileURLToPath(new URL("postgres-keeper.ts", import.meta.url));
const LOOK_EVERY_MS = 50;
/** A minute in total. */
const LOOKS = 1_200;
/** A keeper may be about to end, so asking once is not enough. */
const ASK_EVERY = 60;

/** Where Linux keeps files in memory. */
const MEMORY = "/dev/shm";
const ENOUGH_MEMORY = 6 * 2 ** 30;
const FOLDER = "posthorn-run-";

/**
 * Little memory, but commits are as durable as in production. No vacuum, no statistics: databases
 * live for seconds, and the checks of each would never stop. Each service of the tests that run in
 * parallel keeps six connections, and takes up to 28.
 */
export const TEST_SETTINGS = {
  autovacuum: "off",
  shared_buffers: "64MB",
  max_connections: 400,
  max_wal_size: "256MB",
};

/** The PostgreSQL of this `npm test` run; otherwise the server that tests run by hand share. */
export async function testServerUrl(): Promise<string> {
  return process.env[URL_VARIABLE] ?? (await sharedServerUrl());
}

/** For the runner of all tests: a server in its own folder, and the variables for the tests. */
export async function startTestPostgres() {
  const folder = await mkdtemp(join(await placeForFiles(), FOLDER));
  const lock = lockDataDir(folder);
  const deps = { lock, clock: systemClock, log: silentLog, settings: TEST_SETTINGS };
  const postgres = await startEmbeddedPostgres(deps);
  return {
    environment: { [URL_VARIABLE]: postgres.url },
    async [Symbol.asyncDispose]() {
      await postgres.stop();
      lock.release();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * In memory if there is plenty: hundreds of databases are created and dropped, and doing that with
 * files on a disk takes a fifth of the run.
 */
async function placeForFiles(): Promise<string> {
  const isChosen = process.env["TMPDIR"] !== undefined;
  const room = isChosen
    ? 0
    : await statfs(MEMORY).then(
        (fs) => fs.bavail * fs.bsize,
        () => 0,
      );
  if (Math.min(room, process.availableMemory()) < ENOUGH_MEMORY) return tmpdir();
  await forgetKilledRuns();
  return MEMORY;
}

/** Frees the memory that a killed run still occupies with its files. */
async function forgetKilledRuns(): Promise<void> {
  for await (const name of glob(`${FOLDER}*`, { cwd: MEMORY })) {
    const folder = join(MEMORY, name);
    try {
      lockDataDir(folder).release();
    } catch {
      continue; // It belongs to another run, which is still going on.
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** One per checkout and user, so that only the first test run by hand waits for initdb. */
export function sharedFolder(): string {
  const checkout = createHash("sha256").update(KEEPER).digest("hex").slice(0, 12);
  return join(tmpdir(), `posthorn-test-${userInfo().uid}-${checkout}`);
}

/** Starts a keeper if none runs. It outlives this process, and ends once its server is unused. */
async function sharedServerUrl(): Promise<string> {
  for (let look = 0; look < LOOKS; look += 1) {
    const running = await findRunningPostgres(sharedFolder());
    if (running !== undefined) return running.url;
    if (look % ASK_EVERY === 0) askForKeeper();
    await systemClock.sleep(LOOK_EVERY_MS);
  }
  throw new Error(
    `PostgreSQL for tests does not start in ${sharedFolder()}; see its postgresql.log.`,
  );
}

function askForKeeper(): void {
  spawn(process.execPath, [KEEPER], { detached: true, stdio: "ignore" }).unref();
}
