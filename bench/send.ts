/**
 * A backlog of accepted messages drained to DELIVERED through SMPP over loopback, database and
 * receipts included; then the same with many old messages in the table, as a ratio.
 * Usage: npm run bench:send -- [--messages 20000] [--old 0]
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createAccount } from "#accounts";
import { bookCredits } from "#credits";
import {
  createMetrics,
  type Database,
  lockDataDir,
  migrate,
  newId,
  openDatabase,
  runLoop,
  secretBox,
  silentLog,
  sql,
  startEmbeddedPostgres,
  systemClock as clock,
} from "#platform";
import { addCarrier, carrierFleet } from "#sending";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "20000" },
    old: { type: "string", default: "0" },
  },
});
const count = Number(values.messages);
const folder = await mkdtemp(join(tmpdir(), "posthorn-bench-"));
const lock = lockDataDir(folder);
const postgres = await startEmbeddedPostgres({ lock, clock, log: silentLog });
const smsc = fork(new URL("./smsc-process.ts", import.meta.url));
const [port] = (await once(smsc, "message")) as [number];
try {
  await migrate(postgres.url);
  const db = openDatabase({
    url: postgres.url,
    log: silentLog,
    maxConnections: 10,
    statementTimeoutMs: 0,
  });
  const secrets = secretBox(Buffer.alloc(32));
  const { accountId } = await createAccount(db, {
    name: "bench",
    actor: "bench",
    now: clock.now(),
    secrets,
  });
  await bookCredits(db, {
    accountId,
    kind: "topup",
    amount: 1e9,
    note: "bench",
    actor: "bench",
    now: clock.now(),
  });
  const settings = { host: "127.0.0.1", port, system_id: "bench", window: 500, rate: 0 };
  const added = await addCarrier(db, {
    name: "bench",
    settings,
    password: "bench",
    secrets,
    actor: "bench",
    now: clock.now(),
  });
  if (added.outcome !== "added") throw new Error("The carrier was not added.");
  const first = await drain(db, { accountId, carrierId: added.carrierId });
  console.log(`empty table: ${Math.round(first)} messages/s to DELIVERED`);
  if (Number(values.old) > 0) {
    await insertOld(db, accountId, Number(values.old));
    const second = await drain(db, { accountId, carrierId: added.carrierId });
    console.log(
      `${values.old} old messages: ${Math.round(second)} messages/s, ratio ${(second / first).toFixed(2)}`,
    );
  }
  await db.close();
} finally {
  smsc.kill("SIGTERM");
  await postgres.stop();
  lock.release();
  await rm(folder, { recursive: true, force: true });
}

async function drain(
  db: Database,
  { accountId, carrierId }: { accountId: string; carrierId: string },
): Promise<number> {
  await insertBacklog(db, { accountId, carrierId });
  const recordDb = openDatabase({
    url: postgres.url,
    log: silentLog,
    maxConnections: 2,
    genericPlans: true,
  });
  const node = {
    nodeId: newId(clock.now().getTime()),
    roles: ["sender"],
    host: hostname(),
    pid: process.pid,
    version: "bench",
    startedAt: clock.now(),
  };
  const fleet = carrierFleet({
    db,
    recordDb,
    clock,
    log: silentLog,
    metrics: createMetrics(),
    secrets: secretBox(Buffer.alloc(32)),
    node,
  });
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  await fleet.start();
  const loops = fleet.loops.map((loop) => runLoop(loop, { clock, log: silentLog }));
  for (;;) {
    const [left] = await db.query<{ left: number }>(
      sql`select count(*) as left from messages where status in ('QUEUED', 'SENT') and account_id = ${accountId}`,
    );
    if (left?.left === 0) break;
    await clock.sleep(100);
  }
  const seconds = (performance.now() - began) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  console.log(
    `  ${seconds.toFixed(1)} s, node CPU ${((cpu.user + cpu.system) / 1e6).toFixed(1)} s`,
  );
  await fleet.stop();
  await Promise.all(loops.map((loop) => loop.stop()));
  await recordDb.close();
  return count / seconds;
}

async function insertBacklog(
  db: Database,
  { accountId, carrierId }: { accountId: string; carrierId: string },
): Promise<void> {
  for (let done = 0; done < count; done += 500) {
    const ids = Array.from({ length: 500 }, () => `${newId(Date.now()).slice(0, -1)}0`);
    await db.transaction(async (tx) => {
      await tx.query(sql`
        insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status, carrier_id, created_at, expires_at)
        select ${accountId}, id, '4915112345678', 'Your code is 482913. It is valid for ten minutes.', 'gsm7', 1, 1, 'QUEUED', ${carrierId}, now(), now() + interval '1 day'
          from unnest(${ids}::uuid[]) id`);
      await tx.query(sql`
        insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at)
        select id, ${accountId}, ${carrierId}, now(), now() + interval '1 day' from unnest(${ids}::uuid[]) id`);
    });
  }
  await db.query(sql`analyze`);
}

/** Messages that ended long ago, with the submissions and events they left. */
async function insertOld(db: Database, accountId: string, old: number): Promise<void> {
  console.log(`inserting ${old} old messages`);
  for (let done = 0; done < old; done += 100_000) {
    await db.query(sql`
      with made as (
        insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status, sequence, created_at, expires_at, sent_at, final_at)
        select ${accountId}, (left(id_floor(now() - interval '10 days' + (n || ' ms')::interval)::text, 14) || '7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-' || substr(md5(n::text), 7, 11) || '0')::uuid,
               '491511' || (1000000 + n % 9000000), 'An old message of the usual length, long since delivered.', 'gsm7', 1, 1, 'DELIVERED', 3, now(), now(), now(), now()
          from generate_series(${done}::int, ${done + 99_999}::int) n
        returning message_id
      ), events as (
        insert into events (message_id, sequence, account_id, status, at)
        select message_id, s, ${accountId}, case s when 2 then 'SENT' else 'DELIVERED' end, now() from made, generate_series(2, 3) s
      )
      insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, carrier_message_id, match_id, receipt_effect)
      select message_id, 1, 1, ${accountId}, ${accountId}, now(), 'accepted', left(message_id::text, 18), left(message_id::text, 18), 'delivered' from made`);
  }
  await db.query(sql`vacuum analyze`);
}
