/**
 * Accepted messages per second, as ratios within one run: against the same Fastify answering 202
 * and doing nothing, against one transaction per request on the same tables, and against Kannel's
 * sendsms if it is installed. Kannel stores in a spool or not at all, and always sends at once what
 * it accepted: here to a sink that answers but reports nothing. `batches` sends 100 messages a
 * request; Kannel only takes several recipients of the same text.
 * Usage: npm run bench:accept -- [--seconds 8] [--connections 64,256] [--accounts 100,1]
 *        [--only bare,posthorn,batches,single,kannel,kannel-unstored]
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { type Database, sql, systemClock } from "#platform";
import { isKannelInstalled, startKannel } from "./kannel.ts";
import type { Job, Result } from "./load.ts";
import { usedBy } from "./processor-time.ts";
import { databaseSeconds, inWorld, makeAccounts, stopChild, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    connections: { type: "string", default: "64,256" },
    accounts: { type: "string", default: "100,1" },
    only: {
      type: "string",
      default: "bare,posthorn,batches,single,kannel,kannel-unstored",
    },
  },
});
const seconds = Number(values.seconds);
/** Lets the engine first compile the hot code, which takes a fifth of the processor meanwhile. */
const WARM_UP_SECONDS = 10;
/** PostgreSQL sessions report what they wrote at most a second late. */
const TOLD_MS = 1_500;
const IN_A_BATCH = 100;
const modes = values.only.split(",").filter((mode) => isKannelInstalled() || !isKannel(mode));
const BODY = {
  recipient: "4915112345678",
  text: "Your code is 123456. It is valid for ten minutes.",
  reference: "order-4711",
};

await inWorld(async (world) => {
  const db = world.openDatabase({ maxConnections: 1 });
  const keys = (await makeAccounts(db, world, 100)).map(({ key }) => key);
  console.log(`accept: ${seconds} s a run, body of ${JSON.stringify(BODY).length} octets`);
  if (!isKannelInstalled()) console.log("Kannel is not installed, so it is not compared");
  console.log("");
  for (const accounts of values.accounts.split(",").map(Number)) {
    for (const connections of values.connections.split(",").map(Number)) {
      await compare({ world, db }, keys.slice(0, accounts), connections);
    }
  }
});

type Deps = { world: World; db: Database };

async function compare(deps: Deps, keys: string[], connections: number): Promise<void> {
  console.log(`${keys.length} account(s), ${connections} connections`);
  const rates: Record<string, number> = {};
  for (const mode of modes) {
    const job = { connections, keys, ...requestsOf(mode) };
    const measured = await (isKannel(mode) ? measureKannel : measure)(deps, mode, job);
    rates[mode] = measured.result.perSecond;
    print(mode, measured);
  }
  const ratio = (mode: string) =>
    `posthorn / ${mode} ${((rates["posthorn"] ?? 0) / (rates[mode] ?? Number.NaN)).toFixed(2)}`;
  const others = modes.filter((mode) => mode !== "posthorn");
  console.log(`  ${others.map(ratio).join("   ")}\n`);
}

function requestsOf(mode: string): Pick<Job, "path" | "bodies"> {
  if (mode !== "batches") return { path: "/v1/messages", bodies: [JSON.stringify(BODY)] };
  const messages = Array.from({ length: IN_A_BATCH }, () => BODY);
  return { path: "/v1/messages/batch", bodies: [JSON.stringify({ messages })] };
}

function isKannel(mode: string): boolean {
  return mode.startsWith("kannel");
}

/** Totals: seconds of processor time, which stays reliable on a busy machine; bytes; rows. */
type Spent = Written & { server: number; postgres: number };
type Written = { wal: number; rows: number };
type Measured = { result: Result; before: Spent; after: Spent };
type Load = Omit<Job, "port" | "seconds">;

async function measure({ world, db }: Deps, mode: string, load: Load): Promise<Measured> {
  const { child, port } = await world.startChild("./accept-server.ts", [mode, world.databaseUrl]);
  const measured = await run(world, { ...load, port, seconds }, async () => ({
    server: await cpuOf(child),
    postgres: await databaseSeconds(world),
    ...(await writtenSoFar(db)),
  }));
  await stopChild(child);
  return mode === "batches" ? { ...measured, result: byMessage(measured.result) } : measured;
}

async function measureKannel({ world }: Deps, mode: string, load: Load): Promise<Measured> {
  const smsc = await world.startChild("./smpp-sink.ts");
  const store = mode === "kannel-unstored" ? "none" : "spool";
  const kannel = await startKannel(world, { store, smscPort: smsc.port });
  const job = { ...load, port: kannel.port, path: kannel.sendPath(BODY), bodies: [], seconds };
  const measured = await run(world, job, async () => {
    const server = (await usedBy(kannel.pids)).all;
    return { server, postgres: 0, wal: 0, rows: 0 };
  });
  await kannel.stop();
  await stopChild(smsc.child);
  return measured;
}

async function run(world: World, job: Job, spent: () => Promise<Spent>): Promise<Measured> {
  await world.load({ ...job, seconds: WARM_UP_SECONDS });
  const before = await spent();
  const result = await world.load(job);
  const others = Object.keys(result.statuses).filter((status) => status !== "202");
  if (others.length > 0) throw new Error(`Some were answered with ${others.join(", ")}.`);
  return { result, before, after: await spent() };
}

/** Converts counts from requests to messages; latencies stay those of whole requests. */
function byMessage(result: Result): Result {
  const { perSecond, statuses, ownMicroseconds } = result;
  const messages = Object.entries(statuses).map(([status, count]) => [status, count * IN_A_BATCH]);
  return {
    ...result,
    perSecond: perSecond * IN_A_BATCH,
    statuses: Object.fromEntries(messages) as Result["statuses"],
    ownMicroseconds: ownMicroseconds / IN_A_BATCH,
  };
}

function print(mode: string, { result, before, after }: Measured): void {
  const { perSecond, statuses, p50Ms, p99Ms, maxMs } = result;
  const answered = Object.values(statuses).reduce((sum, each) => sum + each, 0);
  const each = (used: number) => ((used * 1e6) / answered).toFixed(0);
  const accepted = statuses["202"] ?? 0;
  const octets = Math.round((after.wal - before.wal) / accepted);
  const rows = ((after.rows - before.rows) / accepted).toFixed(2);
  const written = mode === "posthorn" ? `, ${rows} rows and ${octets} WAL octets a message` : "";
  console.log(
    `  ${mode.padEnd(15)} ${Math.round(perSecond).toString().padStart(6)}/s  p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms  max ${maxMs.toFixed(0)} ms  ${JSON.stringify(statuses)}${written}`,
  );
  console.log(
    `                  processor time a message: server ${each(after.server - before.server)} µs, PostgreSQL ${each(after.postgres - before.postgres)} µs, load ${result.ownMicroseconds.toFixed(0)} µs`,
  );
}

async function cpuOf(server: ChildProcess): Promise<number> {
  server.send("cpu");
  const [usage] = (await once(server, "message")) as [NodeJS.CpuUsage];
  return (usage.user + usage.system) / 1e6;
}

async function writtenSoFar(db: Database): Promise<Written> {
  await systemClock.sleep(TOLD_MS);
  const [row] = await db.query<Written>(sql`
    select (pg_current_wal_lsn() - '0/0')::bigint as wal,
           sum(n_tup_ins + n_tup_upd)::bigint as rows
      from pg_stat_user_tables`);
  return row ?? { wal: 0, rows: 0 };
}
