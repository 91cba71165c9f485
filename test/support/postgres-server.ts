import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { glob, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findRunningPostgres, lockDataDir, silentLog, systemClock } from "#platform";
import { startEmbeddedPostgres } from "../../server/platform/embedded-postgres.ts";

/** Set by `npm test` for the test files that it runs. */
const URL_VARIABLE = "TEST_DATABASE_URL";
const KEEPER = fileURLToPath(new URL("postgres-keeper.ts", import.meta.url));
const LOOK_EVERY_MS = 50;
/** A minute in all. */
const LOOKS = 1_200;
/** A keeper may be just about to end, so asking once is not enough. */
const ASK_EVERY = 60;

/** Where Linux keeps files in memory. */
const MEMORY = "/dev/shm";
const ENOUGH_MEMORY = 6 * 2 ** 30;
const FOLDER = "posthorn-run-";

/**
 * Little memory; all that makes a commit durable stays as in production. Nothing is swept or counted: a
 * database lives for seconds, and to look at each in turn goes on all the time. Each service of the tests
 * that run side by side keeps six connections, and takes up to 28.
 */
export const TEST_SETTINGS = {
  autovacuum: "off",
  shared_buffers: "64MB",
  max_connections: 400,
  max_wal_size: "256MB",
};

/** The PostgreSQL of this run of `npm test`; without one, a server that hand-run tests share. */
export async function testServerUrl(): Promise<string> {
  return process.env[URL_VARIABLE] ?? (await sharedServerUrl());
}

/** For the runner of all tests: a server in a folder of its own, and what to add to their environment. */
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
 * In memory where there is plenty of it: hundreds of databases are made and dropped, and the making and
 * dropping of their files on a disk takes a fifth of the run.
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

/** Memory that nobody gives back: a run that was killed has left its files. */
async function forgetKilledRuns(): Promise<void> {
  for await (const name of glob(`${FOLDER}*`, { cwd: MEMORY })) {
    const folder = join(MEMORY, name);
    try {
      lockDataDir(folder).release();
    } catch {
      continue; // It is another run's, which goes on.
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** One per checkout and user, so that a test run by hand waits for initdb only the first time. */
export function sharedFolder(): string {
  const checkout = createHash("sha256").update(KEEPER).digest("hex").slice(0, 12);
  return join(tmpdir(), `posthorn-test-${userInfo().uid}-${checkout}`);
}

/** Starts a keeper where none runs. It outlives this process, and ends when nobody uses its server. */
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
