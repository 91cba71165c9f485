/**
 * Drains a backlog of accepted messages to DELIVERED through SMPP over loopback, including database
 * and receipts; then again with many old messages in the table, as a ratio.
 * Usage: npm run bench:send -- [--messages 20000] [--old 10000000]
 */
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import {
  createMetrics,
  type Database,
  idFloor,
  newId,
  runLoop,
  silentLog,
  sql,
  systemClock as clock,
} from "#platform";
import { countedMoves } from "#messages";
import { carrierFleet } from "#sending";
import { fill } from "./fill.ts";
import { type Account, addSmsc, inWorld, makeAccounts, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "20000" },
    old: { type: "string", default: "0" },
  },
});
const count = Number(values.messages);

await inWorld(async (world) => {
  const smsc = await world.startChild("./smsc-process.ts");
  const db = world.openDatabase({ maxConnections: 10, statementTimeoutMs: 0 });
  const [{ accountId }] = (await makeAccounts(db, world, 1)) as [Account];
  const carrierId = await addSmsc(db, world, smsc.port);
  const first = await drain(world, db, { accountId, carrierId });
  console.log(`empty table: ${Math.round(first)} messages/s to DELIVERED`);
  if (Number(values.old) > 0) {
    await fill(world, { first: 0, last: Number(values.old) - 1 }, (rows) =>
      insertOld(db, { accountId, carrierId }, rows),
    );
    const second = await drain(world, db, { accountId, carrierId });
    console.log(
      `${values.old} old messages: ${Math.round(second)} messages/s, ratio ${(second / first).toFixed(2)}`,
    );
  }
});

type From = { accountId: string; carrierId: string };

async function drain(world: World, db: Database, from: From): Promise<number> {
  const firstId = idFloor(clock.now());
  await insertBacklog(db, from);
  const recordDb = world.openDatabase({ maxConnections: 2, genericPlans: true });
  const node = {
    nodeId: newId(clock.now().getTime()),
    roles: ["sender"],
    host: hostname(),
    pid: process.pid,
    version: "bench",
    startedAt: clock.now(),
  };
  const metrics = createMetrics();
  const fleet = carrierFleet({
    db,
    recordDb,
    clock,
    log: silentLog,
    metrics,
    secrets: world.secrets,
    node,
    listener: countedMoves(metrics, undefined),
  });
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  await fleet.start();
  const loops = fleet.loops.map((loop) => runLoop(loop, { clock, log: silentLog }));
  for (;;) {
    // Only from the backlog's first id: otherwise this would measure a scan of all old messages.
    const [left] = await db.query<{ left: number }>(sql`
      select count(*) as left
        from messages
       where account_id = ${from.accountId} and message_id >= ${firstId} and status in ('QUEUED', 'SENT')`);
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

async function insertBacklog(db: Database, { accountId, carrierId }: From): Promise<void> {
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
  await db.query(sql`checkpoint`);
}

/** Old, finished messages, with their submissions and events. */
async function insertOld(
  db: Database,
  { accountId, carrierId }: From,
  { first, last }: { first: number; last: number },
): Promise<void> {
  await db.query(sql`
    with made as (
      insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status, sequence, created_at, expires_at, sent_at, final_at)
      select ${accountId}, (left(id_floor(now() - interval '10 days' + n * interval '1 ms')::text, 14) || '7' || substr(hash, 1, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 11) || '0')::uuid,
             '491511' || (1000000 + n % 9000000), 'An old message of the usual length, long since delivered.', 'gsm7', 1, 1, 'DELIVERED', 3, now(), now(), now(), now()
        from generate_series(${first}::int, ${last}::int) n, md5(n::text) hash
      returning message_id
    ), events as (
      insert into events (message_id, sequence, account_id, status, at)
      select message_id, s, ${accountId}, case s when 2 then 'SENT' else 'DELIVERED' end, now() from made, generate_series(2, 3) s
    )
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, carrier_message_id, match_id, receipt_effect)
    select message_id, 1, 1, ${accountId}, ${carrierId}, now(), 'accepted', left(message_id::text, 18), left(message_id::text, 18), 'delivered' from made`);
}
