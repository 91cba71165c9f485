import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import type { Queryable } from "./database.ts";
import { Unfit } from "./embedded-postgres/unfit.ts";
import { connectToPrimary } from "./primary.ts";
import { sql } from "./sql.ts";
import { asUnavailable } from "./unavailable.ts";

const FOLDER = fileURLToPath(new URL("../../migrations/", import.meta.url));

/** Read once, because an upgrade changes the folder while this node still runs. */
const NAMES = readdirSync(FOLDER)
  .filter((name) => /^\d{4}_.+\.sql$/.test(name))
  .toSorted();

/** An arbitrary number, the same on all nodes, so that migrations run once. */
const LOCK = 4_276_221_001;

export type Migration = { name: string; text: string };

export async function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    NAMES.map(async (name) => ({ name, text: await readFile(`${FOLDER}${name}`, "utf8") })),
  );
}

/**
 * Migrates the database and returns the names of what it applied. Each migration is one
 * transaction; a lock makes starting nodes wait for each other. After a crash, the next start
 * continues. A database with migrations that this version does not know is refused.
 */
export async function migrate(url: string, signal?: AbortSignal): Promise<string[]> {
  const migrations = await readMigrations();
  const client = await connectToPrimary(url, { application_name: "posthorn migrate" });
  // Lets a node that waits for another node's migrations stop without waiting for their end.
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
  } catch (error) {
    const reason = error instanceof Error && error.cause ? error.cause : error;
    throw denialOf(reason) ?? asUnavailable(reason) ?? error;
  } finally {
    await client.end();
  }
}

/** What the database lacks, and what a newer version has applied to it. */
export async function compareMigrations(
  db: Queryable,
): Promise<{ missing: string[]; newer: string[] }> {
  const [table] = await db.query<{ exists: boolean }>(sql`
    select to_regclass('migrations') is not null as exists`);
  const done = table?.exists
    ? await db.query<{ name: string }>(sql`select name from migrations`)
    : [];
  const theirs = new Set(done.map(({ name }) => name));
  const ours = new Set(NAMES);
  return { missing: [...ours.difference(theirs)], newer: [...theirs.difference(ours)] };
}

async function appliedMigrations(client: pg.ClientBase): Promise<Set<string>> {
  await client.query(
    "create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())",
  );
  const { rows } = await client.query<{ name: string }>("select name from migrations");
  return new Set(rows.map(({ name }) => name));
}

function refuseNewer(done: Set<string>, migrations: Migration[]): void {
  const newer = done.difference(new Set(migrations.map(({ name }) => name)));
  if (newer.size > 0) {
    throw new Unfit(
      `The database was migrated by a newer version of Posthorn (${[...newer].join(", ")}). Start that version, or restore a backup.`,
    );
  }
}

/** What the operator can fix, by PostgreSQL's error code. */
const DENIALS: Record<string, string> = {
  "42501": "Make its role the owner: alter database NAME owner to ROLE",
  "3F000":
    "Make the schema that its role's search_path names, or: alter role ROLE reset search_path",
  "25006": "It takes no writes; DATABASE_URL must lead to the primary",
};

function denialOf(error: unknown): Unfit | undefined {
  const { message, code = "" } = error as Error & { code?: string };
  const remedy = DENIALS[code];
  return remedy === undefined
    ? undefined
    : new Unfit(`The database cannot be brought up to date: ${message}. ${remedy}.`);
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
