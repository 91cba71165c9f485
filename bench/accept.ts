/**
 * Accepted messages per second, as ratios of one run: against the same Fastify answering 202 and
 * doing nothing, and against one transaction per request on the same tables.
 * Usage: npm run bench:accept -- [--seconds 8] [--connections 64,256]
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createAccount, createKey } from "#accounts";
import { bookCredits } from "#credits";
import {
  lockDataDir,
  migrate,
  openDatabase,
  secretBox,
  silentLog,
  sql,
  startEmbeddedPostgres,
  systemClock,
} from "#platform";
import type { Job, Result } from "./load.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    connections: { type: "string", default: "64,256" },
    accounts: { type: "string", default: "100,1" },
    only: { type: "string", default: "bare,posthorn,single" },
  },
});
const seconds = Number(values.seconds);
const BODY = {
  recipient: "4915112345678",
  text: "Your code is 123456. It is valid for ten minutes.",
  reference: "order-4711",
};

const folder = await mkdtemp(join(tmpdir(), "posthorn-bench-"));
const lock = lockDataDir(folder);
const postgres = await startEmbeddedPostgres({ lock, clock: systemClock, log: silentLog });
try {
  await migrate(postgres.url);
  const keys = await makeKeys(postgres.url, 100);
  console.log(`accept: ${seconds} s a run, body of ${JSON.stringify(BODY).length} octets\n`);
  for (const accounts of values.accounts.split(",").map(Number)) {
    for (const connections of values.connections.split(",").map(Number)) {
      await compare(keys.slice(0, accounts), connections);
    }
  }
} finally {
  await postgres.stop();
  lock.release();
  await rm(folder, { recursive: true, force: true });
}

async function compare(keys: string[], connections: number): Promise<void> {
  console.log(`${keys.length} account(s), ${connections} connections`);
  const rates: Record<string, number> = {};
  for (const mode of values.only.split(",")) {
    const before = await walAndRows();
    const result = await measure(mode, keys, connections);
    const after = await walAndRows();
    rates[mode] = result.perSecond;
    const count = result.statuses["202"] ?? 0;
    const wal =
      mode === "posthorn"
        ? `, ${Math.round((after.wal - before.wal) / count)} WAL octets a message`
        : "";
    console.log(
      `  ${mode.padEnd(9)} ${Math.round(result.perSecond).toString().padStart(6)}/s  p50 ${result.p50Ms.toFixed(1)} ms  p99 ${result.p99Ms.toFixed(1)} ms  max ${result.maxMs.toFixed(0)} ms  ${JSON.stringify(result.statuses)}${wal}`,
    );
  }
  const ratio = (a: string, b: string) => ((rates[a] ?? 0) / (rates[b] ?? Number.NaN)).toFixed(2);
  console.log(
    `  posthorn / bare ${ratio("posthorn", "bare")}   posthorn / single ${ratio("posthorn", "single")}\n`,
  );
}

async function measure(mode: string, keys: string[], connections: number): Promise<Result> {
  const server = fork(new URL("./accept-server.ts", import.meta.url), [mode, postgres.url], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [port] = (await once(server, "message")) as [number];
  await load({
    port,
    connections,
    seconds: 2,
    path: "/v1/messages",
    keys,
    bodies: [JSON.stringify(BODY)],
  });
  const before = await cpuOf(server);
  const result = await load({
    port,
    connections,
    seconds,
    path: "/v1/messages",
    keys,
    bodies: [JSON.stringify(BODY)],
  });
  const after = await cpuOf(server);
  server.kill("SIGTERM");
  await once(server, "exit");
  const answered = Object.values(result.statuses).reduce((sum, each) => sum + each, 0);
  console.log(
    `            processor time a request: server ${((after.server - before.server) / answered).toFixed(0)} µs, PostgreSQL ${((after.postgres - before.postgres) / answered).toFixed(0)} µs`,
  );
  return result;
}

async function load(job: Job): Promise<Result> {
  const child = spawn(
    process.execPath,
    [new URL("./load.ts", import.meta.url).pathname, "--job", JSON.stringify(job)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "exit");
  return JSON.parse(output) as Result;
}

async function walAndRows(): Promise<{ wal: number }> {
  const db = openDatabase({ url: postgres.url, log: silentLog, maxConnections: 1 });
  const [row] = await db.query<{ wal: number }>(
    sql`select (pg_current_wal_lsn() - '0/0')::bigint as wal`,
  );
  await db.close();
  return row ?? { wal: 0 };
}

async function makeKeys(url: string, count: number): Promise<string[]> {
  const db = openDatabase({ url, log: silentLog, maxConnections: 1 });
  const secrets = secretBox(Buffer.alloc(32));
  const keys: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const now = systemClock.now();
    const { accountId } = await createAccount(db, {
      name: `bench ${n}`,
      actor: "bench",
      now,
      secrets,
    });
    await bookCredits(db, {
      accountId,
      kind: "topup",
      amount: 1_000_000_000,
      note: "bench",
      actor: "bench",
      now,
    });
    const made = await createKey(db, {
      accountId,
      name: "bench",
      scopes: ["messages:send"],
      expiresAt: null,
      actor: "bench",
      now,
    });
    if (made.outcome === "created") keys.push(made.key);
  }
  await db.close();
  return keys;
}

/** Processor time so far in microseconds: it tells more than the clock on a busy machine. */
async function cpuOf(server: ChildProcess): Promise<{ server: number; postgres: number }> {
  server.send("cpu");
  const [usage] = (await once(server, "message")) as [NodeJS.CpuUsage];
  return { server: usage.user + usage.system, postgres: processorTimeOf(postgres.pid) };
}

/** Of a process and its children, as Linux tells it; elsewhere nothing is known. */
function processorTimeOf(pid: number): number {
  if (!existsSync("/proc/self/stat")) return Number.NaN;
  const microseconds = 10_000;
  return readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name) && existsSync(`/proc/${name}/stat`))
    .map((name) =>
      readFileSync(`/proc/${name}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" "),
    )
    .filter(([, parent]) => Number(parent) === pid)
    .reduce((sum, fields) => sum + (Number(fields[11]) + Number(fields[12])) * microseconds, 0);
}
