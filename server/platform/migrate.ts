import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import type { Queryable } from "./database.ts";
import { connectToPrimary } from "./primary.ts";
import { sql } from "./sql.ts";

const FOLDER = fileURLToPath(new URL("../../migrations/", import.meta.url));

/** Any number; all nodes take the same one, so that migrations run once. */
const LOCK = 4_276_221_001;

export type Migration = { name: string; text: string };

export async function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    (await migrationNames()).map(async (name) => ({
      name,
      text: await readFile(`${FOLDER}${name}`, "utf8"),
    })),
  );
}

async function migrationNames(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).toSorted();
}

/**
 * Brings the database up to date and names what was applied. Each migration is one transaction; the
 * lock makes starting nodes wait for each other. A crash leaves whole migrations, and the next start
 * goes on. A database that has migrations this version does not know is refused.
 */
export async function migrate(url: string, signal?: AbortSignal): Promise<string[]> {
  const migrations = await readMigrations();
  const client = await connectToPrimary(url, { application_name: "posthorn migrate" });
  // Who waits for another node's migrations need not wait for their end.
  const leave = () => void client.end().catch(() => undefined);
  signal?.addEventListener("abort", leave, { once: true });
  try {
    signal?.throwIfAborted();
    await client.query("select pg_advisory_lock($1)", [LOCK]);
    signal?.removeEventListener("abort", leave);
    const done = await appliedMigrations(client);
    refuseNewer(done, migrations);
    const missing = migrations.filter(({ name }) => !done.has(name));
    for (const migration of missing) await apply(client, migration);
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** The migrations that this version has and the database has not. */
export async function missingMigrations(db: Queryable): Promise<string[]> {
  const [table] = await db.query<{ exists: boolean }>(sql`
    select to_regclass('migrations') is not null as exists`);
  const done = table?.exists
    ? await db.query<{ name: string }>(sql`select name from migrations`)
    : [];
  const names = new Set(done.map(({ name }) => name));
  return (await migrationNames()).filter((name) => !names.has(name));
}

async function appliedMigrations(client: pg.ClientBase): Promise<Set<string>> {
  await client.query(
    "create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())",
  );
  const { rows } = await client.query<{ name: string }>("select name from migrations");
  return new Set(rows.map(({ name }) => name));
}

function refuseNewer(done: Set<string>, migrations: Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const strange = [...done].filter((name) => !known.has(name));
  if (strange.length > 0) {
    throw new Error(
      `The database was migrated by a newer version of Posthorn (${strange.join(", ")}). Start that version, or restore a backup.`,
    );
  }
}

async function apply(client: pg.ClientBase, { name, text }: Migration): Promise<void> {
  await client.query("begin");
  try {
    await client.query(text);
    await client.query("insert into migrations (name) values ($1)", [name]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw new Error(`Migration ${name} failed.`, { cause: error });
  }
}
