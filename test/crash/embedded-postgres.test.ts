import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { type Database, DatabaseUnavailable, openDatabase, silentLog, sql } from "#platform";
import { ask, type DataFolder, dataFolder } from "../support/data-folder.ts";
import { eventually } from "../support/eventually.ts";

/** Shared, since every test must leave the cluster whole: that is what is tested. */
let folder: DataFolder;

before(async () => {
  folder = await dataFolder();
  await using first = await folder.start();
  await ask(first.url, "create table kept (value int not null)");
});
after(() => folder[Symbol.asyncDispose]());

test("PostgreSQL killed under load comes back with exactly the committed transactions", async () => {
  await using load = new AsyncDisposableStack();
  {
    await using first = await folder.start();
    const open = load.use(await connection(first.url));
    await open.query("begin");
    await open.query("insert into kept values (0)");
    await ask(first.url, "insert into kept values (1)");
    const busyPid = await keepBusy(load.use(await connection(first.url)));

    await killed(first);
    assert.ok(isAlive(busyPid), "a busy process outlives its postmaster");
  }
  await using second = await folder.start();

  assert.deepEqual(await ask(second.url, "delete from kept returning value"), [{ value: 1 }]);
});

test("the PostgreSQL of a killed service is taken over by the next start", async () => {
  await using load = new AsyncDisposableStack();
  await using holder = await folder.hold();
  assert.ok("url" in holder.answer);
  await ask(holder.answer.url, "insert into kept values (2)");
  await keepBusy(load.use(await connection(holder.answer.url)));

  await holder.kill();
  assert.ok(isAlive(holder.answer.pid), "PostgreSQL outlives its service");
  await using next = await folder.start();

  assert.notEqual(next.pid, holder.answer.pid, "by a process of its own");
  assert.deepEqual(await ask(next.url, "delete from kept returning value"), [{ value: 2 }]);
});

test("after a crash, a start succeeds even if another program has the dead PostgreSQL's pid", async () => {
  const file = join(folder.path, "postgresql", "postmaster.pid");
  let owner;
  {
    await using first = await folder.start();
    owner = await stat(file);
    await killed(first);
  }
  // PostgreSQL itself checks only that the pid is alive and belongs to its own user.
  const stranger = spawn("sleep", ["60"], { uid: owner.uid, gid: owner.gid });
  const lines = (await readFile(file, "utf8")).split("\n");
  await writeFile(file, [stranger.pid, ...lines.slice(1)].join("\n"));

  try {
    await using second = await folder.start();
    assert.deepEqual(await ask(second.url, "select 1 as one"), [{ one: 1 }]);
  } finally {
    stranger.kill();
  }
});

test("PostgreSQL that dies under a running service comes back at the same address", async () => {
  await using postgres = await folder.supervise();
  await using stack = new AsyncDisposableStack();
  const db = openDatabase({ url: postgres.url, log: silentLog, maxConnections: 2 });
  stack.defer(() => db.close());
  await db.query(sql`insert into kept values (3)`);
  const firstStart = await startOf(db);

  process.kill(postgres.pid(), "SIGKILL");
  // An open connection may still get an answer from the old one.
  await eventually("another one answers", async () => {
    const start = await startOf(db).catch(whileAway);
    return start !== undefined && start !== firstStart;
  });

  assert.deepEqual(await db.query(sql`delete from kept returning value`), [{ value: 3 }]);
});

test("of two services started at once on one folder, one runs and the other is refused", async () => {
  await using stack = new AsyncDisposableStack();

  const holders = await Promise.all([folder.hold(), folder.hold()]);
  for (const holder of holders) stack.use(holder);

  const refusals = holders.flatMap(({ answer }) => ("unfit" in answer ? [answer.unfit] : []));
  assert.equal(refusals.length, 1);
  assert.match(refusals.join(), /^The data folder .* is in use by /);
});

type Dying = { pid: number; onExit(listener: (how: string) => void): void };

async function killed(postgres: Dying): Promise<void> {
  const exited = new Promise((resolve) => postgres.onExit(resolve));
  process.kill(postgres.pid, "SIGKILL");
  assert.equal(await exited, "SIGKILL");
}

async function connection(url: string) {
  const client = new Client({ connectionString: url });
  // The test cuts the connection on purpose.
  client.on("error", () => {});
  await client.connect();
  return Object.assign(client, {
    [Symbol.asyncDispose]: () => client.end().catch(() => undefined),
  });
}

/** A statement that never checks whether its postmaster is alive; it ends after a minute. */
async function keepBusy(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const statement =
    "do $$ begin while clock_timestamp() < now() + interval '60 s' loop end loop; end $$";
  client.query(statement).catch(() => undefined);
  return rows[0]?.pid ?? 0;
}

async function startOf(db: Database): Promise<string | undefined> {
  const rows = await db.query<{ at: string }>(sql`select pg_postmaster_start_time()::text as at`);
  return rows[0]?.at;
}

function whileAway(error: unknown): undefined {
  if (!(error instanceof DatabaseUnavailable)) throw error;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
