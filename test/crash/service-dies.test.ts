import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findRunningPostgres, newId, openDatabase, silentLog, sql, systemClock } from "#platform";
import { callPosthorn, posthornJson, runPosthorn, startPosthorn } from "../support/cli.ts";
import { type DataFolder, dataFolder } from "../support/data-folder.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/process.ts";
import { assertSound } from "../support/sound.ts";

const started = new AsyncDisposableStack();
/** Shared by all tests. */
let folder: DataFolder;
let accountId: string;
let orphanPid: number;
/** The second service on the folder, after one was killed. The tests use it in order. */
let service: Awaited<ReturnType<typeof start>>;

before(async () => {
  folder = started.use(await dataFolder());
  await using first = await start();
  accountId = await createAccount();
  await using db = await openFolder();
  const carrierId = newId(systemClock.now().getTime());
  await db.query(sql`
    insert into bind_leases (carrier_id, slot, node_id, leased_until)
    select ${carrierId}, 0, node_id, clock_timestamp() + interval '30 s' from nodes`);
  await first.stop("SIGKILL");
  const orphan = await findRunningPostgres(folder.path);
  orphanPid = orphan?.pid ?? assert.fail("PostgreSQL does not outlive the service");
  service = started.use(await start());
});
after(() => started.disposeAsync());

test("a killed service that restarts need not wait for the binds it held before", async () => {
  await using db = await openFolder();

  const left = await db.query(sql`
    select (select count(*)::int from nodes) as nodes, (select count(*)::int from bind_leases) as leases`);

  assert.deepEqual(left, [{ nodes: 1, leases: 0 }]);
});

test("a killed service that restarts replaces the orphaned PostgreSQL with its own, and loses no data", async () => {
  assert.ok(await isBack(orphanPid));
  const { data } = await command<{ data: { accountId: string }[] }>("account", "list");
  assert.ok(data.some((account) => account.accountId === accountId));
  await using db = await openFolder();
  await assertSound(db);
});

test("the service answers 503 while its PostgreSQL is down, and recovers by itself", async () => {
  const account = ["--account", accountId];
  const scope = ["--name", "reader", "--scope", "messages:read"];
  const { key } = await command<{ key: string }>("key", "create", ...account, ...scope);
  const answer = async () =>
    (await fetch(`${service.url}/v1/messages`, { headers: { "x-api-key": key } })).status;
  assert.equal(await answer(), 200);

  const answers = new Set<number>();
  // Open connections still get answers until their process notices.
  await eventually("it answers 503", async () => {
    const postgresPid = (await findRunningPostgres(folder.path))?.pid ?? 0;
    process.kill(postgresPid, "SIGKILL");
    await eventually("PostgreSQL is back", async () => {
      answers.add(await answer());
      return isBack(postgresPid);
    });
    return answers.has(503);
  });

  assert.deepEqual(answers.difference(new Set([200, 503])), new Set());
  assert.equal(await answer(), 200);
  assert.ok(process.kill(service.pid, 0), "it is the same process");
  await using db = await openFolder();
  await assertSound(db);
});

test("a second service on the folder is refused in one sentence that names the first", async () => {
  const { code, stderr } = await runPosthorn(["start"], {
    environment: await ownEnvironment(),
  });

  assert.notEqual(code, 0);
  assert.match(
    stderr,
    new RegExp(`^\\S*.*${folder.path} is in use by process ${service.pid}\\. .*\n$`),
  );
});

test("a stop signal, even if repeated by a launcher, stops service and PostgreSQL, which needs no recovery", async () => {
  // Keeps the service from exiting, as the second signal would kill it during its exit.
  const asking = request(`${service.url}/console/auth/sign-in`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": 2,
      "sec-fetch-site": "same-origin",
      expect: "100-continue",
    },
  });
  asking.flushHeaders();
  await once(asking, "continue");
  const stopped = service.stop("SIGINT");
  // Not immediately: two pending signals count as one.
  await service.line(/^Stopping/);
  const stoppedAgain = service.stop("SIGINT");
  asking.end("{}");
  await once(asking, "response");

  assert.deepEqual(await Promise.all([stopped, stoppedAgain]), [0, 0]);

  assert.equal(await findRunningPostgres(folder.path), undefined);
  const log = await readFile(join(folder.path, "postgresql.log"), "utf8");
  assert.match(log, /database system is shut down\n$/);
});

test("a service keeps running if nobody reads its log, and stops properly", async () => {
  await using unread = await start({ LOG_LEVEL: "debug" });
  unread.stopReading();

  // Each refusal writes a line to the log.
  for (let n = 0; n < 3; n += 1)
    assert.equal((await fetch(`${unread.url}/v1/nothing`)).status, 404);

  assert.equal(await unread.stop(), 0);
  assert.equal(await findRunningPostgres(folder.path), undefined);
});

/** Opens the database that the service uses. */
async function openFolder() {
  const { url } = (await findRunningPostgres(folder.path)) ?? assert.fail();
  const db = openDatabase({ url, log: silentLog, maxConnections: 1 });
  return { ...db, [Symbol.asyncDispose]: () => db.close() };
}

async function start(settings: Record<string, string> = {}) {
  const environment = { ...(await ownEnvironment()), ...settings };
  await using started = new AsyncDisposableStack();
  const service = started.use(startPosthorn(["start"], environment));
  await service.line(/is running/);
  started.move();
  return { ...service, url: `http://127.0.0.1:${environment.PORT}` };
}

async function ownEnvironment() {
  return { DATA_DIR: folder.path, PORT: String(await freePort()), LOG_LEVEL: "warn" };
}

async function isBack(killedPid: number): Promise<boolean> {
  const running = await findRunningPostgres(folder.path);
  return running !== undefined && running.pid !== killedPid;
}

/** Runs beside a service, whose database stays, so it needs no process of its own. */
async function command<Json>(...args: string[]): Promise<Json> {
  return posthornJson<Json>(args, { environment: await ownEnvironment(), run: callPosthorn });
}

async function createAccount(): Promise<string> {
  return (await command<{ accountId: string }>("account", "create", "--name", "Acme")).accountId;
}
