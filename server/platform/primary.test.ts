import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { TLSSocket } from "node:tls";
import { type Identity, makeAuthority } from "../../test/support/certificates.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { openDatabase } from "./database.ts";
import { silentLog } from "./log.ts";
import { connectToPrimary, seekPrimary } from "./primary.ts";
import { sql } from "./sql.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

test("an address with one host is passed on as it is", () => {
  const address = "postgres://me:secret@[::1]:5433/posthorn?sslmode=require";

  const { Client, count } = seekPrimary(address);

  const { host, port, ssl } = new Client({ connectionString: address });
  assert.deepEqual([count, host, port, ssl], [1, "::1", 5433, {}]);
});

test("an unreachable host is skipped for the next one", async () => {
  await using db = await testDatabase();
  const address = db.url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1");

  const client = await connectToPrimary(address);

  assert.equal((await client.query("select 1 as one")).rows[0].one, 1);
  await client.end();
});

test("a pool finds the reachable host, however many of the others are not", async () => {
  await using db = await testDatabase();
  const address = db.url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1:2,127.0.0.1");
  const pool = openDatabase({ url: address, log: silentLog, maxConnections: 4 });

  const answers = await Promise.all(
    Array.from({ length: 4 }, () => pool.query(sql`select 1 as one`)),
  );

  assert.deepEqual(
    answers.flat(),
    Array.from({ length: 4 }, () => ({ one: 1 })),
  );
  await pool.close();
});

test("a standby counts as away for a pool that needs the primary, even if it is the only host", async () => {
  await using db = await testDatabase();
  // Mimics a standby by a function that is found before the server's own.
  await db.query(sql`
    create function pg_is_in_recovery() returns boolean language sql as 'select true'`);
  await db.query(sql`
    create function read_allowances() returns integer language plpgsql as $$
    begin
      raise 'cannot access temporary or unlogged relations during recovery' using errcode = '0A000';
    end $$`);
  await db.query(sql`
    do $$
    begin
      execute format('alter database %I set search_path = public, pg_catalog', current_database());
    end $$`);
  await using pools = new AsyncDisposableStack();
  const open = (primaryOnly: boolean) => {
    const pool = openDatabase({ url: db.url, log: silentLog, maxConnections: 1, primaryOnly });
    return pools.adopt(pool, () => pool.close());
  };
  const reader = open(false);

  await assert.rejects(open(true).query(sql`select 1`), /^DatabaseUnavailable: .* standby/);
  assert.equal((await reader.query(sql`select 1`)).length, 1);
  await assert.rejects(reader.query(sql`select read_allowances()`), DatabaseUnavailable);
});

test("if no primary is found, the error says what each host answered, by its name", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    create function pg_is_in_recovery() returns boolean language sql as 'select true'`);
  await db.query(sql`
    do $$
    begin
      execute format('alter database %I set search_path = public, pg_catalog', current_database());
    end $$`);
  const { host } = new URL(db.url);
  const address = db.url.replace("@127.0.0.1", "@127.0.0.1:1,localhost:2,127.0.0.1");
  const told: unknown[] = [];
  const log = { ...silentLog, error: ({ reason }: { reason?: string }) => void told.push(reason) };
  await using pools = new AsyncDisposableStack();
  const pool = openDatabase({ url: address, log, maxConnections: 1 });
  pools.adopt(pool, () => pool.close());

  const everyHost = new RegExp(
    `^127.0.0.1:1: connect ECONNREFUSED .*; localhost:2: connect ECONNREFUSED .*; ${host}: this host is a standby$`,
  );
  await assert.rejects(connectToPrimary(address), { message: everyHost });
  await assert.rejects(pool.query(sql`select 1`), { message: everyHost });
  assert.match(String(told), everyHost);
});

test("a host's certificate is checked against the name of that host, not of the first", async () => {
  const authority = makeAuthority();
  await using server = await startTlsPostgres(authority.issue({ names: ["localhost"] }));
  await using folder = await mkdtempDisposable(join(tmpdir(), "posthorn-ca-"));
  const file = join(folder.path, "ca.pem");
  await writeFile(file, authority.cert);
  const hosts = `127.0.0.1:1,localhost:${server.port}`;

  const connecting = connectToPrimary(
    `postgres://me@${hosts}/posthorn?sslmode=verify-full&sslrootcert=${file}`,
  );

  await assert.rejects(connecting, /Connection terminated/);
  assert.equal(server.trusted, 1);
});

/** Speaks TLS as PostgreSQL does, counts clients that trust its certificate, and disconnects. */
async function startTlsPostgres(identity: Identity) {
  let trusted = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, ...identity });
      secure.on("error", () => {});
      secure.once("data", () => {
        trusted += 1;
        secure.destroy();
      });
    });
  }).listen(0);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get trusted() {
      return trusted;
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test("callers that find the same host dead together move on by one host, not by many", () => {
  const primary = seekPrimary("postgres://one:1,two:2/posthorn");
  const tried = primary.position();

  primary.advance(tried);
  primary.advance(tried);

  assert.equal(primary.position(), 1);
});
