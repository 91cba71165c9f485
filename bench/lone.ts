/**
 * One request at a time to an idle service: the time until its 202, and until its submit_sm is at
 * the SMSC, a separate process. Then none: how many queries the service makes by itself.
 *
 *   npm run bench:lone -- [--requests 500] [--gap 20] [--idle 10]
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { Client } from "undici";
import { type Database, sql, systemClock as clock } from "#platform";
import { percentile } from "./percentile.ts";
import type { Seen } from "./smsc-process.ts";
import { addSmsc, type Child, inWorld, makeAccounts } from "./world.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "500" },
    /** Milliseconds of silence after each request. */
    gap: { type: "string", default: "20" },
    /** Seconds without any request. */
    idle: { type: "string", default: "10" },
  },
});
const WARM_UP = 50;
const ARRIVES_WITHIN_MS = 10_000;
/** PostgreSQL's counters lag behind a connection by at most a second. */
const SETTLE_MS = 3_000;

type Times = { acceptedMs: number; fromRequestMs: number; fromAnswerMs: number };

await inWorld(async (world) => {
  const db = world.openDatabase({ maxConnections: 1 });
  const smsc = await world.startChild("./smsc-process.ts", ["--tell"]);
  await addSmsc(db, world, smsc.port);
  const [account] = await makeAccounts(db, world, 1);
  const service = await world.startService({ ROLES: "api,sender,webhooks" });
  const client = new Client(`http://127.0.0.1:${service.port}`);
  const all: Times[] = [];
  for (let n = 0; n < Number(values.requests) + WARM_UP; n += 1) {
    const times = await sendOne({ client, smsc, key: account?.key ?? "" }, n);
    if (n >= WARM_UP) all.push(times);
    await clock.sleep(Number(values.gap));
  }
  await client.close();
  print(
    "request to 202",
    all.map(({ acceptedMs }) => acceptedMs),
  );
  print(
    "request to submit_sm",
    all.map(({ fromRequestMs }) => fromRequestMs),
  );
  print(
    "202 to submit_sm",
    all.map(({ fromAnswerMs }) => fromAnswerMs),
  );
  await countIdle(db, Number(values.idle));
});

type Deps = { client: Client; smsc: Child; key: string };

async function sendOne({ client, smsc, key }: Deps, n: number): Promise<Times> {
  const recipient = `49151${String(10_000_000 + n)}`;
  const arrives = arrivalOf(smsc, recipient);
  const startedAt = wallMs();
  const answer = await client.request({
    path: "/v1/messages",
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ recipient, text: "Your code is 482913." }),
  });
  const text = await answer.body.text();
  const answeredAt = wallMs();
  if (answer.statusCode !== 202) throw new Error(`${answer.statusCode}: ${text}`);
  const { at } = await arrives;
  return {
    acceptedMs: answeredAt - startedAt,
    fromRequestMs: at - startedAt,
    // The segment often arrives before the client has read its answer.
    fromAnswerMs: Math.max(0, at - answeredAt),
  };
}

/** Both processes read the same clock, to the microsecond. */
function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

async function arrivalOf({ child }: Child, recipient: string): Promise<Seen> {
  const signal = AbortSignal.timeout(ARRIVES_WITHIN_MS);
  for (;;) {
    const [seen] = (await once(child, "message", { signal })) as [Seen];
    if (seen.recipient === recipient) return seen;
  }
}

function print(name: string, times: number[]): void {
  const at = (share: number) => percentile(times, share).toFixed(2);
  console.log(`${name.padEnd(21)} p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  max ${at(1)} ms`);
}

async function countIdle(db: Database, seconds: number): Promise<void> {
  await clock.sleep(SETTLE_MS);
  const before = await transactions(db);
  await clock.sleep(seconds * 1000);
  // One of them is our own first look.
  const count = (await transactions(db)) - before - 1;
  console.log(
    `idle for ${seconds} s: ${count} statements in the database, ${(count / seconds).toFixed(1)} a second`,
  );
}

async function transactions(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select xact_commit + xact_rollback as count
      from pg_stat_database
     where datname = current_database()`);
  return row?.count ?? 0;
}
