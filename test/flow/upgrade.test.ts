import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { openAccount } from "#credits";
import { DatabaseUnavailable, migrate, sql, systemClock } from "#platform";
import { readMigrations } from "../../server/platform/migrate.ts";
import { eventually } from "../support/eventually.ts";
import { makeKey } from "../support/make-key.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { type TestDatabase, testDatabase } from "../support/postgres.ts";
import { TEST_SECRETS } from "../support/secret-key.ts";

const LATER = "9999_folders.sql";
/** How the next release may extend the schema: with additional columns, tables and functions. */
const NEXT_RELEASE = `
  alter table messages add column folder text;
  alter table accounts add column folders integer not null default 0;
  create table folders (account_id uuid not null references accounts, name text not null, primary key (account_id, name));
  insert into migrations (name) values ('${LATER}');`;
const LIMIT_MS = 30_000;

let db: TestDatabase;
let key: string;
let nodes: ServiceProcess[] = [];
/** How many current partitions were missing, and how many were made before a node reported. */
let partitions: { missing: number; made: number | undefined };
const migrations = await readMigrations();

/** Two nodes that start at once on the previous schema, which also lacks the current partitions. */
before(async () => {
  db = await testDatabase({ isEmpty: true });
  await applyByHand(migrations.slice(0, -1));
  key = await accountWithCredits();
  const missing = await dropNow();
  const starting = [startService(db.url), startService(db.url)];
  const started = await Promise.allSettled(starting);
  // Even if one of them fails, those running are stopped at the end.
  nodes = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  await Promise.all(starting);
  // Read now: a later change of the tables would make them look younger.
  const [found] = await db.query<{ made: number }>(sql`
    select count(*)::int as made
      from pg_class
     where relname = any (${missing}::text[])
       and xmin::text::bigint < (select min(xmin::text::bigint) from nodes)`);
  partitions = { missing: missing.length, made: found?.made };
});
after(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

test("two nodes that start at once on the previous schema upgrade it once, and its data still works", async () => {
  const applied = await db.query<{ name: string }>(sql`
    select name from migrations where name <> ${LATER} order by name`);
  assert.deepEqual(
    applied.map(({ name }) => name),
    migrations.map(({ name }) => name),
  );
  for (const node of nodes) await isDelivered(node, await send(node));
});

test("the current partitions exist before there is any traffic", () => {
  assert.equal(partitions.made, partitions.missing);
});

test("nodes go on accepting and sending while the next release expands the schema under them", async () => {
  const onItsWay = await send(first());
  await onClient(db, (client) => client.query(NEXT_RELEASE));

  await isDelivered(first(), onItsWay);
  for (const node of nodes) await isDelivered(node, await send(node));
});

test("a node refuses to start on the schema of a later release, and says so", async () => {
  await using later = await testDatabase();
  await later.query(sql`insert into migrations (name) values (${LATER})`);

  await assert.rejects(
    startService(later.url),
    /\nThe database was migrated by a newer version of Posthorn \(9999_folders\.sql\)/,
  );
});

test("losing the database while waiting to migrate is reported as the database being away", async () => {
  await using other = await testDatabase({ isEmpty: true });

  await onClient(other, async (holder) => {
    await holder.query("select pg_advisory_lock($1)", [4_276_221_001]);
    const migrating = assert.rejects(migrate(other.url), DatabaseUnavailable);
    await eventually("it was there and is gone", async () => {
      const { rowCount } = await holder.query(`
        select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'posthorn migrate'`);
      return rowCount === 1;
    });
    await migrating;
  });
});

test("two nodes that start at once on an empty database migrate it once", async () => {
  await using other = await testDatabase({ isEmpty: true });

  const applied = await Promise.all([migrate(other.url), migrate(other.url)]);

  assert.deepEqual(applied.map(({ length }) => length > 0).toSorted(), [false, true]);
});

test("a temporary failure such as a lock timeout is not blamed on the migration", async () => {
  await using other = await testDatabase({ isEmpty: true });
  const url = new URL(other.url);
  url.searchParams.set("options", "-c lock_timeout=100");

  await onClient(other, async (holder) => {
    await holder.query("create table migrations (name text primary key, applied_at timestamptz)");
    await holder.query("begin");
    await holder.query("lock table migrations in share mode");
    await assert.rejects(migrate(url.href), DatabaseUnavailable);
  });
});

/** As if no node had run for months: drops the current partitions. */
async function dropNow(): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    select c.relname as name
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     cross join unnest(array['_YYYY_MM', '_YYYY_MM_DD']) form
     where c.relkind = 'r' and c.relname like '%' || to_char(now() at time zone 'UTC', form)`);
  const names = rows.map(({ name }) => name);
  assert.equal(names.length, 4);
  await onClient(db, (client) => client.query(`drop table ${names.join(", ")}`));
  return names;
}

function first(): ServiceProcess {
  return nodes[0] ?? assert.fail("no node runs");
}

async function onClient<Result>(
  { url }: TestDatabase,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function applyByHand(migrations: { name: string; text: string }[]): Promise<void> {
  return onClient(db, async (client) => {
    await client.query(
      "create table migrations (name text primary key, applied_at timestamptz not null default now())",
    );
    for (const { name, text } of migrations) {
      await client.query(text);
      await client.query("insert into migrations (name) values ($1)", [name]);
    }
  });
}

async function accountWithCredits(): Promise<string> {
  const by = { actor: "test", now: systemClock.now() };
  const wish = { name: "upgraded", credits: 100, secrets: TEST_SECRETS, ...by };
  const { accountId } = await openAccount(db, wish);
  return (await makeKey(db, { accountId })).key;
}

async function send({ url }: ServiceProcess): Promise<string> {
  const answer = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ recipient: "4915112345678", text: "Hello" }),
  });
  const { messageId } = (await answer.json()) as { messageId: string };
  assert.equal(answer.status, 202);
  return messageId;
}

async function isDelivered({ url }: ServiceProcess, messageId: string): Promise<void> {
  const began = performance.now();
  for (;;) {
    const answer = await fetch(`${url}/v1/messages/${messageId}`, {
      headers: { "x-api-key": key },
    });
    const { status } = (await answer.json()) as { status: string };
    if (status === "DELIVERED") return;
    assert.ok(performance.now() - began < LIMIT_MS, `${messageId} is ${status}`);
    await systemClock.sleep(20);
  }
}
