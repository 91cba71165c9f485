/**
 * The whole way, all of it durable: HTTP accept, SMPP submit, receipt, two signed webhooks a message.
 * The service is the real one, with all roles but the dashboard; load, SMSC and receiver are processes
 * of their own beside it. Says how many messages a second went all the way, whether anything piled up,
 * and where the processor time went.
 *
 *   npm run bench:flow -- [--rate 1500] [--seconds 60] [--accounts 4] [--profile FOLDER]
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createAccount, createKey } from "#accounts";
import { bookCredits } from "#credits";
import { setRoute } from "#messages";
import {
  type Database,
  lockDataDir,
  migrate,
  openDatabase,
  secretBox,
  silentLog,
  sql,
  startEmbeddedPostgres,
  systemClock as clock,
} from "#platform";
import { addCarrier } from "#sending";
import type { Job, Result } from "./load.ts";

const { values } = parseArgs({
  options: {
    /** Messages a second that are sent; more than go all the way pile up. */
    rate: { type: "string", default: "1500" },
    seconds: { type: "string", default: "60" },
    accounts: { type: "string", default: "4" },
    connections: { type: "string", default: "64" },
    /** Where to write a processor profile of the service. */
    profile: { type: "string" },
  },
});
const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
const SECRET_KEY = randomBytes(32);
const SAMPLE_MS = 5_000;

const folder = await mkdtemp(join(tmpdir(), "posthorn-bench-"));
const lock = lockDataDir(folder);
const postgres = await startEmbeddedPostgres({ lock, clock, log: silentLog });
const children: ChildProcess[] = [];
try {
  await migrate(postgres.url);
  const db = openDatabase({ url: postgres.url, log: silentLog, maxConnections: 2 });
  const smsc = await startChild("./smsc-process.ts");
  const receiver = await startChild("./receiver-process.ts");
  const keys = await prepare(db, smsc.port);
  const service = await startService();
  const body = JSON.stringify({
    recipient: "4915112345678",
    text: "Your code is 482913. It is valid for ten minutes.",
    callbackUrl: `http://127.0.0.1:${receiver.port}/hook`,
  });
  const job = { port: service.port, path: "/v1/messages", keys, bodies: [body] };
  const connections = Number(values.connections);
  await load({ ...job, connections, seconds: 3, perSecond: Math.min(rate, 500) });
  await drained(db);

  const processes = {
    service: [service.child.pid ?? 0],
    database: await childrenOf(postgres.pid),
    smsc: [smsc.child.pid ?? 0],
    receiver: [receiver.child.pid ?? 0],
  };
  const before = { cpu: await cpuOf(processes), webhooks: await received(receiver.child) };
  const began = performance.now();
  const running = load({ ...job, connections, seconds, perSecond: rate });
  const backlogs = await watch(db, receiver.child, running);
  const result = await running;
  const took = (performance.now() - began) / 1000;
  const webhooks = (await received(receiver.child)) - before.webhooks;
  await drained(db);
  const drainedIn = (performance.now() - began) / 1000;
  const cpu = await cpuOf({ ...processes, database: await childrenOf(postgres.pid) });
  report({ result, took, drainedIn, webhooks, backlogs, before: before.cpu, cpu });
  await audit(db);
  await db.close();
} finally {
  for (const child of children) await stop(child);
  await postgres.stop();
  lock.release();
  await rm(folder, { recursive: true, force: true });
}

async function prepare(db: Database, smscPort: number): Promise<string[]> {
  const [secrets, actor] = [secretBox(SECRET_KEY), "bench"];
  const settings = { host: "127.0.0.1", port: smscPort, system_id: "bench", window: 500, rate: 0 };
  const wish = { name: "bench", settings, password: "bench", secrets, actor, now: clock.now() };
  const added = await addCarrier(db, wish);
  if (added.outcome !== "added") throw new Error("The carrier was not added.");
  await setRoute(db, { prefix: "", carrierIds: [added.carrierId] }, { actor, now: clock.now() });
  const keys: string[] = [];
  for (let n = 0; n < Number(values.accounts); n += 1) {
    const now = clock.now();
    const { accountId } = await createAccount(db, { name: `bench ${n}`, actor, now, secrets });
    const credits = { accountId, kind: "topup", amount: 1e9, note: "bench", actor, now } as const;
    await bookCredits(db, credits);
    const scopes = ["messages:send"];
    const key = { accountId, name: "bench", scopes, expiresAt: null, actor, now };
    const made = await createKey(db, key);
    if (made.outcome === "created") keys.push(made.key);
  }
  return keys;
}

async function startChild(file: string): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(new URL(file, import.meta.url));
  children.unshift(child);
  const [port] = (await once(child, "message")) as [number];
  return { child, port };
}

async function startService(): Promise<{ child: ChildProcess; port: number }> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const { profile } = values;
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const main = new URL("../server/main.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [...flags, main, "start"], {
    env: {
      ...process.env,
      DATABASE_URL: postgres.url,
      DATA_DIR: folder,
      SECRET_KEY: SECRET_KEY.toString("base64"),
      PORT: String(port),
      ROLES: "api,sender,webhooks",
      WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
      WEBHOOK_ALLOW_HTTP: "true",
      RATE_LIMIT_SENDS: "1000000",
      RATE_LIMIT_SENDS_BURST: "1000000",
      LOG_LEVEL: "warn",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  children.unshift(child);
  for (;;) {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { child, port };
    if (child.exitCode !== null) throw new Error("The service does not start.");
    await clock.sleep(50);
  }
}

async function load(job: Job): Promise<Result> {
  const file = new URL("./load.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [file, "--job", JSON.stringify(job)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return JSON.parse(output) as Result;
}

type Backlog = { queued: number; sent: number; webhooks: number };

/** What waits at each stage, looked at now and then until the load ends. */
async function watch(
  db: Database,
  receiver: ChildProcess,
  running: Promise<unknown>,
): Promise<Backlog[]> {
  const backlogs: Backlog[] = [];
  const state = { isOver: false };
  void running.finally(() => (state.isOver = true));
  let last = await received(receiver);
  while (!state.isOver) {
    await Promise.race([running, clock.sleep(SAMPLE_MS)]);
    const backlog = await backlogOf(db);
    const now = await received(receiver);
    backlogs.push(backlog);
    console.log(
      `  ${Math.round(((now - last) / SAMPLE_MS) * 1000)} webhooks/s; waiting: ${backlog.queued} to send, ${backlog.sent} for a receipt, ${backlog.webhooks} webhooks`,
    );
    last = now;
  }
  return backlogs;
}

async function backlogOf(db: Database): Promise<Backlog> {
  const [row] = await db.query<Backlog>(sql`
    select (select count(*) from send_queue) as queued,
           (select count(*) from webhook_deliveries) as webhooks,
           (select count(*) from submissions s
             where s.receipt_effect is null and s.at > now() - interval '60 s') as sent`);
  return row ?? { queued: 0, sent: 0, webhooks: 0 };
}

async function drained(db: Database): Promise<void> {
  for (;;) {
    const { queued, sent, webhooks } = await backlogOf(db);
    if (queued + sent + webhooks === 0) return;
    await clock.sleep(100);
  }
}

/** Nothing of what was accepted may be missing at the other end. */
async function audit(db: Database): Promise<void> {
  const slow = openDatabase({
    url: postgres.url,
    log: silentLog,
    maxConnections: 1,
    statementTimeoutMs: 0,
  });
  const [row] = await slow.query<{ messages: number; delivered: number; webhooks: number }>(sql`
    select count(*) as messages, count(*) filter (where status = 'DELIVERED') as delivered,
           (select count(*) from webhook_attempts where ended = 'delivered') as webhooks
      from messages`);
  await slow.close();
  console.log(
    `all drained: ${row?.messages} messages accepted, ${row?.delivered} DELIVERED, ${row?.webhooks} webhooks delivered`,
  );
  void db;
}

/** Seconds of processor time, and how much of it the kernel took. */
type Cpu = Record<string, { all: number; system: number }>;
type Report = {
  result: Result;
  took: number;
  drainedIn: number;
  webhooks: number;
  backlogs: Backlog[];
  before: Cpu;
  cpu: Cpu;
};

function report(given: Report): void {
  const { result, took, drainedIn, webhooks, backlogs, before, cpu } = given;
  const accepted = result.statuses["202"] ?? 0;
  console.log(
    `\naccepted ${result.perSecond.toFixed(0)}/s (${JSON.stringify(result.statuses)}), p50 ${result.p50Ms.toFixed(1)} ms, p99 ${result.p99Ms.toFixed(1)} ms`,
  );
  console.log(
    `all the way ${(webhooks / 2 / took).toFixed(0)} messages/s for ${took.toFixed(0)} s, the rest within ${(drainedIn - took).toFixed(1)} s`,
  );
  const sizes = backlogs.map(({ queued, sent, webhooks: waiting }) => queued + sent + waiting);
  const half = Math.floor(sizes.length / 2);
  const [early, late] = [average(sizes.slice(0, half)), average(sizes.slice(half))];
  console.log(
    `backlog ${early.toFixed(0)} on average in the first half, ${late.toFixed(0)} in the second`,
  );
  console.log("processor time until all was drained:");
  for (const [name, used] of Object.entries(cpu)) {
    const spent = used.all - (before[name]?.all ?? 0);
    const system = used.system - (before[name]?.system ?? 0);
    const share = ((spent / drainedIn) * 100).toFixed(0).padStart(4);
    const perMessage = (time: number) => ((time * 1e6) / accepted).toFixed(0);
    console.log(
      `  ${name.padEnd(9)} ${share} % of a core, ${perMessage(spent)} µs a message, ${perMessage(system)} of them the kernel`,
    );
  }
}

function average(numbers: number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length);
}

async function received(receiver: ChildProcess): Promise<number> {
  receiver.send("count");
  const [count] = (await once(receiver, "message")) as [number];
  return count;
}

async function childrenOf(pid: number): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(async (each) => ({ each, stat: await statOf(each) })));
  return [pid, ...stats.filter(({ stat }) => Number(stat[1]) === pid).map(({ each }) => each)];
}

/** So far; a process that is gone counts nothing. */
async function cpuOf(processes: Record<string, number[]>): Promise<Cpu> {
  const entries = Object.entries(processes).map(async ([name, pids]) => {
    const stats = await Promise.all(pids.map(statOf));
    const secondsOf = (field: number) =>
      stats.reduce((sum, stat) => sum + Number(stat[field] ?? 0) / 100, 0);
    return [name, { all: secondsOf(11) + secondsOf(12), system: secondsOf(12) }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The fields of /proc/PID/stat after the name: state, parent, … */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  if (child.connected) child.disconnect();
  child.kill("SIGTERM");
  await once(child, "exit");
}
