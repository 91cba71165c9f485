/**
 * Overload for a while: three times what the same service accepted just before, over more
 * connections than its queue holds, with one account far over its rate. Prints what was accepted
 * and refused and the service's memory, then checks that every message answered with 202 is stored
 * and charged, and nothing else. Fails if not.
 *
 *   npm run bench:overload -- [--seconds 60] [--connections 8000] [--times 3]
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Database, sql, systemClock as clock } from "#platform";
import type { Result } from "./load.ts";
import { memoryOf } from "./processor-time.ts";
import { addSmsc, inWorld, makeAccounts, stopChild, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    /** The queue of the accepting stage holds 5,000. */
    connections: { type: "string", default: "8000" },
    times: { type: "string", default: "3" },
  },
});
const seconds = Number(values.seconds);
const ACCOUNTS = 75;
/** Of 100 requests, this many come from one account. */
const GREEDY = 25;
/** Per second and account: far above an honest account here, below what the greedy one wants. */
const RATE_LIMIT = "200";
const CALM_SECONDS = 5;
const BODY = JSON.stringify({
  recipient: "4915112345678",
  text: "Your code is 123456. It is valid for ten minutes.",
});

await inWorld(async (world) => {
  const db = world.openDatabase({ maxConnections: 2, statementTimeoutMs: 0 });
  const smsc = await world.startChild("./smsc-process.ts");
  await addSmsc(db, world, smsc.port);
  const keys = (await makeAccounts(db, world, ACCOUNTS + 1)).map(({ key }) => key);
  const [greedy = "", ...others] = keys;
  const service = await world.startService({
    ROLES: "api,sender,webhooks",
    RATE_LIMIT_SENDS: RATE_LIMIT,
    RATE_LIMIT_SENDS_BURST: RATE_LIMIT,
  });
  const job = { port: service.port, path: "/v1/messages", bodies: [BODY] };
  const files = { calm: join(world.folder, "calm-ids"), storm: join(world.folder, "storm-ids") };

  const wishes = { ...job, keys: others, connections: 64, seconds: CALM_SECONDS };
  const calm = await world.load({ ...wishes, idsFile: files.calm });
  const before = await memoryOf(service.pid);
  console.log(
    `64 connections: ${(accepted(calm) / CALM_SECONDS).toFixed(0)} accepted/s; the service takes ${before.now.toFixed(0)} MB`,
  );

  const perSecond = (Number(values.times) * accepted(calm)) / CALM_SECONDS;
  const storm = await world.load({
    ...job,
    keys: spread(others, greedy),
    connections: Number(values.connections),
    seconds,
    perSecond,
    idsFile: files.storm,
  });
  const peak = (await memoryOf(service.pid)).peak;
  await clock.sleep(5_000);
  report(storm, { perSecond, peak, after: (await memoryOf(service.pid)).now });
  // What it would still send only delays the checks.
  await stopChild(service.child);
  await check(world, db, { files: Object.values(files), results: [calm, storm] });
});

/** Puts the greedy account between the others, in every fourth place. */
function spread(others: string[], greedy: string): string[] {
  const share = others.length / GREEDY;
  return others.flatMap((key, n) => (n % share === 0 ? [greedy, key] : [key]));
}

function accepted({ statuses }: Result): number {
  return statuses["202"] ?? 0;
}

function report(
  result: Result,
  { perSecond, peak, after }: { perSecond: number; peak: number; after: number },
): void {
  const { statuses, p50Ms, p99Ms, maxMs, errors, unanswered } = result;
  const known = ["202", "429", "503"];
  const other = Object.entries(statuses).filter(([status]) => !known.includes(status));
  console.log(
    `${values.connections} connections, ${perSecond.toFixed(0)} requests/s wanted, ${result.perSecond.toFixed(0)}/s answered, for ${seconds} s:`,
  );
  for (const status of known) {
    const count = statuses[status] ?? 0;
    console.log(`  ${status}  ${count.toString().padStart(8)}  ${(count / seconds).toFixed(0)}/s`);
  }
  console.log(
    `  other answers ${JSON.stringify(Object.fromEntries(other))}, broken connections ${errors}, unanswered ${unanswered}`,
  );
  console.log(
    `  p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, max ${maxMs.toFixed(0)} ms`,
  );
  console.log(
    `  memory of the service: ${peak.toFixed(0)} MB at most, ${after.toFixed(0)} MB 5 s after`,
  );
}

type Answers = { files: string[]; results: Result[] };

async function check(world: World, db: Database, { files, results }: Answers): Promise<void> {
  const contents = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const ids = contents.flatMap((content) => content.split("\n")).filter((id) => id !== "");
  const [found] = await db.query<{ lost: number; unanswered: number; uncharged: number }>(sql`
    with answered as (select id from unnest(${ids}::uuid[]) id)
    select (select count(*) from answered where id not in (select message_id from messages)) as lost,
           (select count(*) from messages where message_id not in (select id from answered)) as unanswered,
           (select count(*) from messages m full join ledger l
                on l.message_id = m.message_id and l.kind = 'charge' and -l.amount = m.credits
             where (l.message_id is null or m.message_id is null)
               and (l.kind is null or l.kind = 'charge')) as uncharged`);
  const count = results.reduce((sum, each) => sum + accepted(each), 0);
  // A request that got no answer may have been accepted; its client would have to ask again.
  const lostAnswers = results.reduce((sum, each) => sum + each.unanswered, 0);
  console.log(
    `${count} answered with 202: ${found?.lost} of them are not stored, ${found?.unanswered} stored that were not answered so (${lostAnswers} answers did not come), ${found?.uncharged} charges without their message or messages without their charge`,
  );
  const audit = world.spawn(process.execPath, [
    new URL("../server/main.ts", import.meta.url).pathname,
    "audit",
  ]);
  const [code] = (await once(audit, "exit")) as [number | null];
  const isRight =
    ids.length === count &&
    found?.lost === 0 &&
    found.unanswered <= lostAnswers &&
    found.uncharged === 0 &&
    code === 0;
  console.log(isRight ? "nothing lost, nothing invented" : "WRONG: see above");
  if (!isRight) process.exitCode = 1;
}
