/**
 * Runs the PostgreSQL that tests started by hand share, until nobody has used it for a while. If
 * several keepers start at once, the folder's lock lets one run, and the others end.
 */
import { Client } from "pg";
import { lockDataDir, silentLog, systemClock } from "#platform";
import { startEmbeddedPostgres } from "../../server/platform/embedded-postgres.ts";
import { sharedFolder, TEST_SETTINGS } from "./postgres-server.ts";

const IDLE_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 2_000;

const lock = lockDataDir(sharedFolder());
const deps = { lock, clock: systemClock, log: silentLog, settings: TEST_SETTINGS };
const postgres = await startEmbeddedPostgres(deps);
postgres.onExit(() => process.exit(1));
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());

const client = new Client({ connectionString: postgres.url });
await client.connect();
await untilIdle();
await dropDatabases();
await client.end();
await postgres.stop();
lock.release();

async function untilIdle(): Promise<void> {
  let idleMs = 0;
  while (idleMs < IDLE_LIMIT_MS && !stopping.signal.aborted) {
    await systemClock.sleep(LOOK_EVERY_MS, stopping.signal);
    idleMs = (await isInUse()) ? 0 : idleMs + LOOK_EVERY_MS;
  }
}

async function isInUse(): Promise<boolean> {
  const { rows } = await client.query<{ others: boolean }>(
    "select count(*) > 1 as others from pg_stat_activity where backend_type = 'client backend'",
  );
  return rows[0]?.others === true;
}

/** Drops what killed tests left behind, and the templates: migrations may have changed. */
async function dropDatabases(): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select datname as name from pg_database where datname ~ '^(test|template)_'",
  );
  for (const { name } of rows) await client.query(`drop database ${name} with (force)`);
}
