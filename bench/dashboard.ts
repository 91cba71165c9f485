/**
 * What a person waits for at the dashboard: every list and panel from a server with ten million
 * messages, the largest paint and layout shifts of the main pages in a slow browser, and the time
 * from a change of status to its badge beside 50 open streams.
 *
 *   npm run bench:dashboard -- [--rows 10000000] [--times 100] [--runs 5]
 */
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { createUser, passwords, setupLink } from "#console";
import { type Database, sql, systemClock as clock } from "#platform";
import { buildDashboard } from "../dashboard/build.ts";
import { shareBrowser } from "../test/support/browser.ts";
import { type Filled, fillAccount, makePast } from "./dashboard-fill.ts";
import { type Known, timePages, type Visitor } from "./dashboard-pages.ts";
import { timeBadges, timePaint } from "./dashboard-screen.ts";
import { percentile } from "./percentile.ts";
import { inWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000000" },
    /** How often each page is requested. */
    times: { type: "string", default: "100" },
    /** How often each page is painted. */
    runs: { type: "string", default: "5" },
  },
});
/** A disk with ample space for ten million rows may not hold much more. */
const MAX_ROWS = 20_000_000;
const rows = Math.min(Number(values.rows), MAX_ROWS);
const BUDGET = { pageMs: 100, paintMs: 2_500, shift: 0.05, badgeMs: 2_000 };
const STREAMS = 50;
const MESSAGES = 30;
const CREDITS = 1_000_000_000;
const EMAIL = "ada@example.com";

await inWorld(async (world) => {
  const db = world.openDatabase({ maxConnections: 2, statementTimeoutMs: 0 });
  await makePast(db);
  await buildDashboard();
  const { port } = await world.startService();
  const url = `http://127.0.0.1:${port}`;
  const { key, password, ...filled } = await setUp(db, url);
  await fillAccount(world, db, { ...filled, rows });
  const visitor = { url, cookie: await cookieOf(url, { email: EMAIL, password }) };
  const member = async (n: number) => {
    const user = { email: `member${n}@example.com`, password };
    const joins = {
      ...user,
      accountId: filled.accountId,
      role: "viewer",
      isOperator: false,
    } as const;
    await createUser(
      { db, passwords: passwords() },
      { ...joins, actor: "bench", now: clock.now() },
    );
    return { url, cookie: await cookieOf(url, user) };
  };

  await reportPages(visitor, { ...filled, messageIds: await someIds(db) });
  await using shared = await shareBrowser();
  const { browser } = shared;
  for (const { page, largestMs, shift } of await timePaint(browser, visitor, Number(values.runs))) {
    const isOver = largestMs > BUDGET.paintMs || shift > BUDGET.shift;
    console.log(
      `  ${page.padEnd(12)} ${largestMs.toFixed(0)} ms, shift ${shift.toFixed(3)}${isOver ? "  over" : ""}`,
    );
  }
  const { accountId } = filled;
  const watched = { browser, visitor, member, db, accountId, key };
  const badges = await timeBadges(watched, { streams: STREAMS, messages: MESSAGES });
  const [p50, p95] = [percentile(badges, 0.5), percentile(badges, 0.95)];
  console.log(
    `status in the database to badge on screen, ${STREAMS} streams: p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, at most ${Math.max(...badges)} ms of ${BUDGET.badgeMs}`,
  );
});

/** Sets up the operator by the setup link, then credits and a key, as a person would. */
async function setUp(db: Database, url: string) {
  const link = await setupLink({ db, clock, publicUrl: url });
  const token = new URL(link ?? "").hash.replace("#token=", "");
  const password = randomBytes(12).toString("hex");
  const wish = { token, name: "Ada Lovelace", email: EMAIL, password, accountName: "Example" };
  const made = await post<Omit<Filled, "keyId">>(`${url}/console/setup`, wish);
  const { userId, accountId } = made.body;
  const topup = { kind: "topup", amount: CREDITS, note: "bench", reference: "bench" };
  const credits = `${url}/console/operator/accounts/${accountId}/credits`;
  await post(credits, topup, made.cookie);
  const asked = { name: "bench", scopes: ["messages:send", "messages:read"] };
  const keys = `${url}/console/accounts/${accountId}/keys`;
  const { body } = await post<{ keyId: string; key: string }>(keys, asked, made.cookie);
  return { userId, accountId, password, keyId: body.keyId, key: body.key };
}

async function cookieOf(url: string, who: { email: string; password: string }): Promise<string> {
  return (await post(`${url}/console/auth/sign-in`, who)).cookie;
}

async function post<Body>(url: string, body: object, cookie = "") {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", cookie },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  const [set = cookie] = answer.headers.getSetCookie();
  return { body: (await answer.json()) as Body, cookie: set.split(";")[0] ?? "" };
}

/** Ids of messages with a webhook, from all over the month. */
async function someIds(db: Database): Promise<string[]> {
  const found = await db.query<{ message_id: string }>(sql`
    select message_id
      from events tablesample bernoulli (${Math.min(100, (100 * 20_000) / rows)})
     where callback_url is not null and sequence = 2
     order by random()
     limit 200`);
  return found.map(({ message_id }) => message_id);
}

async function reportPages(visitor: Visitor, known: Known): Promise<void> {
  const times = Number(values.times);
  console.log(`${times} reads each, with ${rows.toLocaleString("en")} messages:`);
  const timed = await timePages(visitor, known, times);
  for (const { page, p50Ms, p95Ms } of timed) {
    const isOver = p95Ms > BUDGET.pageMs;
    console.log(
      `  ${page.padEnd(40)} p50 ${p50Ms.toFixed(1).padStart(6)} ms  p95 ${p95Ms.toFixed(1).padStart(6)} ms${isOver ? "  over" : ""}`,
    );
  }
  const over = timed.filter(({ p95Ms }) => p95Ms > BUDGET.pageMs).length;
  console.log(`${over} of ${timed.length} are over ${BUDGET.pageMs} ms at p95`);
  console.log(
    "largest paint (median) and shift (worst of the runs), cold, CPU ×4, 10 Mbit/s, 40 ms:",
  );
}
