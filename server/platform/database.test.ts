import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { test } from "node:test";
import { eventually } from "../../test/support/eventually.ts";
import { limitedRole } from "../../test/support/limited-role.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { startTcpProxy } from "../../test/support/tcp-proxy.ts";
import { openDatabase } from "./database.ts";
import { silentLog } from "./log.ts";
import { connectToPrimary } from "./primary.ts";
import { rawSql, sql } from "./sql.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** The first byte of the message that closes a PostgreSQL session. */
const TERMINATE = "X".charCodeAt(0);

test("a closed database has disconnected from the server, which can then stop cleanly", async () => {
  await using server = await testDatabase();
  const url = new URL(server.url);
  await using proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const db = openDatabase({ url: url.href, log: silentLog, maxConnections: 1 });
  await db.query(sql`select 1`);
  let hasLeft = false;
  void proxy.clientSent(([first]) => first === TERMINATE).then(() => (hasLeft = true));

  await db.close();

  assert.equal(hasLeft, true);
});

test("whatever keeps a connection from being made, the database counts as away and was asked nothing", async () => {
  await using server = await testDatabase();
  const [otherDatabase, otherUser] = [new URL(server.url), new URL(server.url)];
  otherDatabase.pathname = "/nosuch";
  otherUser.username = "nobody";

  for (const url of [otherDatabase.href, otherUser.href, "postgres://x@localhost/x?host=/nosuch"]) {
    const db = openDatabase({ url, log: silentLog, maxConnections: 1 });
    await assert.rejects(
      db.query(sql`select 1`),
      (error) => error instanceof DatabaseUnavailable && error.unknownBackend === undefined,
      url,
    );
    await db.close();
  }
});

test("a pool logs an absence and its end once each, with its name; a closed pool logs nothing", async () => {
  await using server = await testDatabase();
  const url = new URL(server.url);
  await using proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const told: string[] = [];
  const say = ({ pool }: { pool?: string }, text: string) => void told.push(`${pool}: ${text}`);
  const log = { ...silentLog, error: say, warn: say };
  const db = openDatabase({ url: url.href, log, maxConnections: 1, applicationName: "readers" });

  proxy.refuse(true);
  for (let n = 0; n < 3; n += 1) {
    await assert.rejects(
      db.query(sql`select 1`),
      (error) => error instanceof DatabaseUnavailable && error.isTold,
    );
  }
  proxy.refuse(false);
  for (let n = 0; n < 3; n += 1) await db.query(sql`select 1`);

  await db.close();
  await assert.rejects(db.query(sql`select 1`), DatabaseUnavailable);
  assert.deepEqual(told, [
    "readers: the database cannot be reached",
    "readers: the database is there again",
  ]);
});

test("a connection lost before the commit was sent leaves no doubt that nothing was committed", async () => {
  await using server = await testDatabase();
  const url = new URL(server.url);
  await using proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const db = openDatabase({ url: url.href, log: silentLog, maxConnections: 1 });

  const lost = db.transaction(async (tx) => {
    await tx.query(sql`select 1`);
    proxy.cut();
    await tx.query(sql`select 2`);
  });

  await assert.rejects(
    lost,
    (error) => error instanceof DatabaseUnavailable && !error.isCommitUnknown,
  );
  await db.close();
});

test("a server that hangs keeps no connection of a closed pool open", async () => {
  await using server = await testDatabase();
  const url = new URL(server.url);
  await using proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const sockets: Socket[] = [];
  const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  const db = openDatabase({ url: url.href, log: silentLog, maxConnections: 1 });
  subscribe("net.client.socket", note);
  await db.query(sql`select 1`);
  unsubscribe("net.client.socket", note);
  const own = sockets.find(({ remotePort }) => remotePort === proxy.port);

  proxy.hold();
  await db.close();

  assert.equal(own?.destroyed, true);
});

test("a query that finds every connection busy waits for connect_timeout, and is told that none was free", async () => {
  await using server = await testDatabase();
  const { promise: end, resolve: letGo } = Promise.withResolvers<void>();
  /** A database whose only connection stays busy until the end. */
  const openBusy = async (search: string) => {
    const url = Object.assign(new URL(server.url), { search }).href;
    const db = openDatabase({ url, log: silentLog, maxConnections: 1 });
    await eventually("it is connected", () =>
      db.query(sql`select 1`).then(
        () => true,
        () => false,
      ),
    );
    return { db, busy: db.transaction(() => end) };
  };
  const [patient, impatient] = [await openBusy("connect_timeout=60"), await openBusy("")];

  const waiting = patient.db.query(sql`select 1`);
  await assert.rejects(impatient.db.query(sql`select 1`), {
    name: "DatabaseUnavailable",
    message: "no database connection was free in time",
  });
  letGo();
  await waiting;

  for (const { db, busy } of [patient, impatient]) {
    await busy;
    await db.close();
  }
});

test("while the server has no further connection, a query waits for one in use, and is not refused", async () => {
  await using server = await testDatabase();
  await using role = await limitedRole(server);
  const db = openDatabase({ url: role.url, log: silentLog, maxConnections: 3 });
  await db.query(sql`select 1`);
  await role.limit(1);

  const answers = await Promise.all([1, 2, 3, 4].map((n) => db.query(sql`select ${n}::int as n`)));

  assert.deepEqual(answers.flat(), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  await role.limit(3);
  await eventually("the pool opens more connections again", async () => {
    const asked = [1, 2, 3].map(() =>
      db.query<{ pid: number }>(sql`select pg_backend_pid() as pid from pg_sleep(0.05)`),
    );
    const pids = (await Promise.all(asked)).flat().map(({ pid }) => pid);
    return new Set(pids).size === 3;
  });
  await db.close();
});

test("a pool keeps its last connection, however long it is idle", async (t) => {
  await using server = await testDatabase();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const db = openDatabase({ url: server.url, log: silentLog, maxConnections: 2 });
  const backend = async () =>
    (await db.query<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0];
  const before = await Promise.all([backend(), backend()]);

  t.mock.timers.tick(3_600_000);
  const kept = await backend();

  assert.ok(before.some((each) => each?.pid === kept?.pid));
  await db.close();
});

test("a commit stands even if one of its listeners fails", async () => {
  await using server = await testDatabase();
  const heard: string[] = [];

  const result = await server.transaction(async (tx) => {
    tx.afterCommit(() => {
      throw new Error("a listener's own");
    });
    tx.afterCommit(() => heard.push("commit"));
    tx.afterFailure(() => heard.push("failure"));
    return "done";
  });

  assert.deepEqual([result, ...heard], ["done", "commit"]);
});

test("errors for lack of room, memory, descriptors or time may be retried, and no others", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    create function fail(state text) returns void language plpgsql as $$
    begin raise exception 'no' using errcode = state; end $$`);
  const isAway = (state: string) =>
    db
      .query(sql`select fail(${state})`)
      .then(() => false)
      .catch((error: unknown) => error instanceof DatabaseUnavailable);

  for (const state of ["53000", "53100", "53200", "53400", "58030", "57014", "40P01", "55P03"])
    assert.equal(await isAway(state), true, state);
  for (const state of ["22003", "23505", "42501", "54000", "P0001"])
    assert.equal(await isAway(state), false, state);
});

test("a statement that timed out leaves its connection in use", async () => {
  await using server = await testDatabase();
  const { url } = server;
  const db = openDatabase({ url, log: silentLog, maxConnections: 1, statementTimeoutMs: 50 });
  const backend = () => db.query(sql`select pg_backend_pid() as pid`);
  const before = await backend();

  await assert.rejects(db.query(sql`select pg_sleep(5)`), DatabaseUnavailable);

  assert.deepEqual(await backend(), before);
  await db.close();
});

test("no statement is JIT-compiled, whatever the server's settings", async () => {
  await using server = await testDatabase();
  await server.query(sql`
    do $$ begin execute format('alter database %I set jit = on', current_database()); end $$`);
  const db = openDatabase({ url: server.url, log: silentLog, maxConnections: 1 });

  const dear = await db.query(sql`
    select proname from pg_proc
     where 'enable_seqscan=off' = any (proconfig) and not 'jit=off' = any (proconfig)`);
  assert.deepEqual(dear, []);
  assert.deepEqual(await db.query(sql`show jit`), [{ jit: "off" }]);
  await db.close();
});

test("the server does not close an idle connection, whatever its settings", async () => {
  await using server = await testDatabase();
  await server.query(sql`
    do $$ begin execute format('alter database %I set idle_session_timeout = 3600000', current_database()); end $$`);
  const db = openDatabase({ url: server.url, log: silentLog, maxConnections: 1 });

  const limit = await db.query(sql`show idle_session_timeout`);

  await db.close();
  assert.deepEqual(limit, [{ idle_session_timeout: "0" }]);
});

test("a notice is heard by whoever asked for its statement, whatever the server's settings", async () => {
  await using server = await testDatabase();
  await server.query(sql`
    do $$ begin execute format('alter database %I set client_min_messages = error', current_database()); end $$`);
  const db = openDatabase({ url: server.url, log: silentLog, maxConnections: 1 });
  const statement = sql`do $$ begin raise notice 'stored'; end $$`;
  const heard: string[] = [];

  await db.query(statement, () => heard.push("first"));
  await db.query(statement, () => heard.push("second"));
  await db.query(statement);

  await db.close();
  assert.deepEqual(heard, ["first", "second"]);
});

test("audits and migrations have unlimited time, whatever limits the server sets", async () => {
  await using server = await testDatabase();
  await server.query(sql`
    do $$ begin
      execute format('alter database %I set statement_timeout = 3600000', current_database());
      execute format('alter database %I set lock_timeout = 3600000', current_database());
    end $$`);
  const { url } = server;
  const db = openDatabase({ url, log: silentLog, maxConnections: 1, statementTimeoutMs: 0 });
  const client = await connectToPrimary(url);
  const limits = rawSql(`
    select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`);

  const ofAudit = await db.query(limits);
  const ofMigration = await client.query(limits.text);

  await Promise.all([db.close(), client.end()]);
  const none = { statement: "0", lock: "0" };
  assert.deepEqual([...ofAudit, ...ofMigration.rows], [none, none]);
});

test("the server gives up a node that has silently gone within seconds", async () => {
  await using server = await testDatabase();

  // The requested values: not every system supports all, and Unix sockets need none.
  const settings = await server.query(sql`
    select name, reset_val as value from pg_settings where name like 'tcp\\_%' order by name`);

  assert.deepEqual(settings, [
    { name: "tcp_keepalives_count", value: "3" },
    { name: "tcp_keepalives_idle", value: "10" },
    { name: "tcp_keepalives_interval", value: "10" },
    { name: "tcp_user_timeout", value: "10000" },
  ]);
});

test("no statement, wait for a lock or abandoned transaction holds its locks for long", async () => {
  await using server = await testDatabase();
  const db = openDatabase({ url: server.url, log: silentLog, maxConnections: 1 });

  const settings = await db.query(sql`
    select name, reset_val as value
      from pg_settings
     where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')
     order by name`);

  await db.close();
  assert.deepEqual(settings, [
    { name: "idle_in_transaction_session_timeout", value: "10000" },
    { name: "lock_timeout", value: "2000" },
    { name: "statement_timeout", value: "5000" },
  ]);
});

test("if a failed statement was ignored, nothing is committed, and nobody is told that it was", async () => {
  await using db = await testDatabase({ isEmpty: true });
  await db.query(sql`create table kept (n integer primary key)`);
  let isToldCommitted = false;

  const work = db.transaction(async (tx) => {
    tx.afterCommit(() => (isToldCommitted = true));
    await tx.query(sql`insert into kept values (1)`);
    await tx.query(sql`insert into kept values (1)`).catch(() => []);
    return "done";
  });

  await assert.rejects(work, /rolled back/);
  assert.equal(isToldCommitted, false);
  assert.deepEqual(await db.query(sql`select n from kept`), []);
});
