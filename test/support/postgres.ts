import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { Pool } from "pg";
import { type Database, migrate, openDatabase, silentLog } from "#platform";
import { testServerUrl } from "./postgres-server.ts";

export type TestDatabase = Database & AsyncDisposable & { url: string };

type Options = {
  /** An empty database instead of a migrated one. */
  isEmpty?: boolean;
  maxConnections?: number;
};

/** On a busy machine, the first connection takes a while, and so do many rows at once. */
const PATIENCE_MS = 60_000;

/** Creates and drops this process's databases, on one connection that does not keep it alive. */
let administrator: Pool | undefined;
let template: Promise<string> | undefined;

/** A migrated database, dropped at the end: `await using db = await testDatabase()`. */
export async function testDatabase(options: Options = {}): Promise<TestDatabase> {
  const server = await testServerUrl();
  const admin = (administrator ??= new Pool({
    connectionString: withDatabase(server, "postgres"),
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  }));
  const source = options.isEmpty ? "template0" : await (template ??= ensureTemplate(admin, server));
  const name = `test_${randomBytes(8).toString("hex")}`;
  // By copying files: through the log it would take half as long again.
  await admin.query(`create database ${name} template ${source} strategy file_copy`);
  const url = `${withDatabase(server, name)}?connect_timeout=${PATIENCE_MS / 1_000}`;
  const db = openDatabase({
    url: patient(url),
    log: silentLog,
    maxConnections: options.maxConnections ?? 5,
    statementTimeoutMs: PATIENCE_MS,
  });
  return {
    ...db,
    url,
    async [Symbol.asyncDispose]() {
      await db.close();
      await admin.query(`drop database ${name} with (force)`);
    },
  };
}

/**
 * The address of a test's database, for sessions that wait for a lock until the test releases it. A
 * service gives up after two seconds, which a busy machine may need before the test goes on.
 */
export function patient(url: string): string {
  return `${url}&lock_timeout=${PATIENCE_MS}&idle_in_transaction_session_timeout=${PATIENCE_MS}`;
}

/** Arbitrary; test processes that need the template wait here for the one that makes it. */
const TEMPLATE_LOCK = 4_276_221_002;

/** One template per state of the migrations, made once per server. */
async function ensureTemplate(admin: Pool, server: string): Promise<string> {
  const name = `template_${await migrationsHash()}`;
  if (await databaseExists(admin, name)) return name;
  await admin.query("select pg_advisory_lock($1)", [TEMPLATE_LOCK]);
  try {
    if (await databaseExists(admin, name)) return name;
    // Renamed only when complete: a test killed during migration leaves no template.
    await admin.query("drop database if exists template_new with (force)");
    await admin.query("create database template_new template template0");
    await migrate(withDatabase(server, "template_new"));
    await admin.query(`alter database template_new rename to ${name}`);
  } finally {
    await admin.query("select pg_advisory_unlock($1)", [TEMPLATE_LOCK]);
  }
  return name;
}

async function databaseExists(admin: Pool, name: string): Promise<boolean> {
  const { rowCount } = await admin.query("select from pg_database where datname = $1", [name]);
  return rowCount === 1;
}

async function migrationsHash(): Promise<string> {
  const folder = new URL("../../migrations/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => /^\d{4}_/.test(name)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
  const hash = createHash("sha256");
  for (const text of [...names, ...texts]) hash.update(text).update("\0");
  return hash.digest("hex").slice(0, 16);
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = name;
  return changed.href;
}
