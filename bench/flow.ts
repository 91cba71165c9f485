/**
 * The whole flow, all of it durable: HTTP accept, SMPP submit, receipt, two signed webhooks a
 * message. The service is the real one, with all roles but the dashboard; load, SMSC and receiver
 * are processes beside it. Reports messages completed per second, growing backlogs and processor
 * time. Then, if Kannel is installed, runs both at full speed for a while, up to the last callback,
 * with the same SMSC and receiver.
 *
 *   npm run bench:flow -- [--rate 1550] [--seconds 60] [--accounts 4] [--beside 20] [--profile FOLDER]
 */
import type { ChildProcess } from "node:child_process";
import { parseArgs } from "node:util";
import { type Database, sql, systemClock as clock } from "#platform";
import { compareWithKannel, received } from "./flow-kannel.ts";
import type { Result } from "./load.ts";
import { familyOf, type Used, usedBy } from "./processor-time.ts";
import { RECEIVER_HOSTS } from "./receiver-hosts.ts";
import { addSmsc, inWorld, makeAccounts, stopChild } from "./world.ts";

const { values } = parseArgs({
  options: {
    /** Messages sent per second; if more than can complete, a backlog grows. */
    rate: { type: "string", default: "1550" },
    seconds: { type: "string", default: "60" },
    accounts: { type: "string", default: "4" },
    connections: { type: "string", default: "192" },
    /** How long to run at full speed, ours and Kannel's in turn; 0 for not at all. */
    beside: { type: "string", default: "20" },
    /** The folder for a processor profile of the service. */
    profile: { type: "string" },
  },
});
const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
/** Time for the engine to compile the hot code; "sustained" is what comes after. */
const WARM_UP_SECONDS = 15;
const SAMPLE_MS = 5_000;
const LOOK_MS = 100;
/** A backlog that has not shrunk for this long never will. */
const STUCK_MS = 60_000;
const TEXT = "Your code is 482913. It is valid for ten minutes.";
const RECIPIENT = "4915112345678";

await inWorld(async (world) => {
  const db = world.openDatabase({ maxConnections: 2, statementTimeoutMs: 0 });
  const smsc = await world.startChild("./smsc-process.ts");
  const receiver = await world.startChild("./receiver-process.ts");
  await addSmsc(db, world, smsc.port);
  const keys = (await makeAccounts(db, world, Number(values.accounts))).map(({ key }) => key);
  const { profile } = values;
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const service = await world.startService({ ROLES: "api,sender,webhooks" }, flags);
  const bodies = RECEIVER_HOSTS.map((host) => {
    const callbackUrl = `http://${host}:${receiver.port}/hook`;
    return JSON.stringify({ recipient: RECIPIENT, text: TEXT, callbackUrl });
  });
  const connections = Number(values.connections);
  const job = { port: service.port, path: "/v1/messages", keys, bodies, connections };
  // One continuous load: measuring starts in its midst, with every stage as full as at the end.
  const running = world.load({ ...job, seconds: WARM_UP_SECONDS + seconds, perSecond: rate });
  await Promise.race([running, clock.sleep(WARM_UP_SECONDS * 1000)]);

  const processes = async () => ({
    service: [service.pid],
    database: await familyOf(world.databasePid),
    smsc: [smsc.pid],
    receiver: [receiver.pid],
  });
  const look = async () => ({
    atMs: performance.now(),
    accepted: await accepted(db),
    webhooks: await received(receiver.child),
    cpu: await cpuOf(await processes()),
  });
  const before = await look();
  const backlogs = await watch(db, receiver.child, running);
  const result = await running;
  const after = await look();
  await drained(db);
  report({ result, backlogs, before, after, drained: await look() });
  await audit(db);

  if (Number(values.beside) > 0) {
    await compareWithKannel(
      { world, smsc, receiver },
      {
        job: { ...job, seconds: Number(values.beside) },
        message: { recipient: RECIPIENT, text: TEXT },
        pids: async () => [service.pid, ...(await familyOf(world.databasePid))],
        stop: () => stopChild(service.child),
      },
    );
  }
});

type Backlog = { queued: number; sent: number; webhooks: number };

/** Samples the backlog of each stage until the load ends. */
async function watch(
  db: Database,
  receiver: ChildProcess,
  running: Promise<unknown>,
): Promise<Backlog[]> {
  const backlogs: Backlog[] = [];
  const state = { isOver: false };
  const end = () => void (state.isOver = true);
  running.then(end, end);
  let last = await received(receiver);
  let lastMs = performance.now();
  while (!state.isOver) {
    await Promise.race([running, clock.sleep(SAMPLE_MS)]);
    const backlog = await backlogOf(db);
    const now = await received(receiver);
    const nowMs = performance.now();
    backlogs.push(backlog);
    console.log(
      `  ${Math.round(((now - last) / (nowMs - lastMs)) * 1000)} webhooks/s; waiting: ${backlog.queued} to send, ${backlog.sent} for a receipt, ${backlog.webhooks} webhooks`,
    );
    [last, lastMs] = [now, nowMs];
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
  let [least, waitedMs] = [Number.POSITIVE_INFINITY, 0];
  for (;;) {
    const { queued, sent, webhooks } = await backlogOf(db);
    const left = queued + sent + webhooks;
    if (left === 0) return;
    waitedMs = left < least ? 0 : waitedMs + LOOK_MS;
    least = Math.min(least, left);
    if (waitedMs > STUCK_MS) throw new Error(`${left} of the backlog do not move.`);
    await clock.sleep(LOOK_MS);
  }
}

async function accepted(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`select count(*) as count from messages`);
  return row?.count ?? 0;
}

/** Checks that nothing accepted is missing at the other end. */
async function audit(db: Database): Promise<void> {
  const [row] = await db.query<{ messages: number; delivered: number; webhooks: number }>(sql`
    select count(*) as messages, count(*) filter (where status = 'DELIVERED') as delivered,
           (select count(*) from webhook_attempts where ended = 'delivered') as webhooks
      from messages`);
  console.log(
    `all drained: ${row?.messages} messages accepted, ${row?.delivered} DELIVERED, ${row?.webhooks} webhooks delivered`,
  );
}

type Cpu = Record<string, Used>;
/** Totals at one moment. */
type Look = { atMs: number; accepted: number; webhooks: number; cpu: Cpu };
type Report = { result: Result; backlogs: Backlog[]; before: Look; after: Look; drained: Look };

function report({ result, backlogs, before, after, drained }: Report): void {
  const took = (after.atMs - before.atMs) / 1000;
  const perSecond = (count: number) => (count / took).toFixed(0);
  console.log(
    `\nanswers of the whole load: ${JSON.stringify(result.statuses)}, p50 ${result.p50Ms.toFixed(1)} ms, p99 ${result.p99Ms.toFixed(1)} ms`,
  );
  console.log(
    `accepted ${perSecond(after.accepted - before.accepted)} messages/s, all the way ${perSecond((after.webhooks - before.webhooks) / 2)} messages/s for ${took.toFixed(0)} s, the rest within ${((drained.atMs - after.atMs) / 1000).toFixed(1)} s`,
  );
  const sizes = backlogs.map(({ queued, sent, webhooks: waiting }) => queued + sent + waiting);
  const half = Math.floor(sizes.length / 2);
  const [early, late] = [average(sizes.slice(0, half)), average(sizes.slice(half))];
  console.log(
    `backlog ${early.toFixed(0)} on average in the first half, ${late.toFixed(0)} in the second`,
  );
  console.log("processor time until all was drained:");
  const drainedIn = (drained.atMs - before.atMs) / 1000;
  const messages = (drained.webhooks - before.webhooks) / 2;
  for (const [name, used] of Object.entries(drained.cpu)) {
    const spent = used.all - (before.cpu[name]?.all ?? 0);
    const system = used.system - (before.cpu[name]?.system ?? 0);
    const share = ((spent / drainedIn) * 100).toFixed(0).padStart(4);
    const perMessage = (time: number) => ((time * 1e6) / messages).toFixed(0);
    console.log(
      `  ${name.padEnd(9)} ${share} % of a core, ${perMessage(spent)} µs a message, ${perMessage(system)} of them the kernel`,
    );
  }
}

function average(numbers: number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length);
}

async function cpuOf(processes: Record<string, number[]>): Promise<Cpu> {
  const entries = Object.entries(processes).map(
    async ([name, pids]) => [name, await usedBy(pids)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}
