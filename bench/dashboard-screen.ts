import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Browser, BrowserContext, CDPSession } from "playwright-core";
import type { Message } from "#contract";
import { type Database, sql, systemClock as clock } from "#platform";
import type { Visitor } from "./dashboard-pages.ts";
import { percentile } from "./percentile.ts";

export type Painted = { page: string; largestMs: number; shift: number };

const PAGES = {
  "sign-in": "/sign-in",
  overview: "/",
  messages: "/messages",
  keys: "/keys",
  webhooks: "/webhooks",
};

/** A middling phone on a middling connection. */
const SLOWER = 4;
const LINE = { latency: 40, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8 };
const QUIET_MS = 2_000;
const LOOK_MS = 200;

/** Records what is painted and what shifts, from the very first moment. */
const WATCH = `
  window.painted = { largestMs: 0, shift: 0, lastMs: 0 };
  new PerformanceObserver((list) => list.getEntries().forEach(({ startTime }) => {
    Object.assign(window.painted, { largestMs: startTime, lastMs: performance.now() });
  })).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => list.getEntries().forEach(({ value, hadRecentInput }) => {
    if (!hadRecentInput) window.painted.shift += value;
    window.painted.lastMs = performance.now();
  })).observe({ type: "layout-shift", buffered: true });`;

/** Each main page's largest paint (median) and layout shift (worst), without a browser cache. */
export async function timePaint(
  browser: Browser,
  visitor: Visitor,
  times: number,
): Promise<Painted[]> {
  const painted: Painted[] = [];
  for (const [page, path] of Object.entries(PAGES)) {
    const who = page === "sign-in" ? { ...visitor, cookie: "" } : visitor;
    const runs: Omit<Painted, "page">[] = [];
    for (let run = 0; run < times; run += 1) runs.push(await paint(browser, who, path));
    const largestMs = percentile(
      runs.map((run) => run.largestMs),
      0.5,
    );
    painted.push({ page, largestMs, shift: Math.max(...runs.map(({ shift }) => shift)) });
  }
  return painted;
}

async function paint(browser: Browser, visitor: Visitor, path: string) {
  const context = await openContext(browser, visitor);
  try {
    const page = await context.newPage();
    await page.addInitScript(WATCH);
    await slowDown(await context.newCDPSession(page));
    await page.goto(`${visitor.url}${path}`);
    await page.locator("h1").first().waitFor();
    for (;;) {
      const quietMs = await page.evaluate<number>("performance.now() - window.painted.lastMs");
      if (quietMs > QUIET_MS) return await page.evaluate<Omit<Painted, "page">>("window.painted");
      await clock.sleep(LOOK_MS);
    }
  } finally {
    await context.close();
  }
}

async function openContext(browser: Browser, { url, cookie }: Visitor): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const [name = "", value = ""] = cookie.split("=");
  if (cookie !== "") await context.addCookies([{ name, value, url }]);
  return context;
}

async function slowDown(devtools: CDPSession): Promise<void> {
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", { offline: false, ...LINE });
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
}

/** A user may have no more than 20. */
const STREAMS_A_MEMBER = 10;

type Watched = {
  browser: Browser;
  visitor: Visitor;
  /** Makes the nth other member of the account, and signs in as that one. */
  member: (n: number) => Promise<Visitor>;
  db: Database;
  accountId: string;
  key: string;
};

/** From the time of a status in the database to its badge on screen, beside other open streams. */
export async function timeBadges(
  { browser, visitor, member, db, accountId, key }: Watched,
  { streams, messages }: { streams: number; messages: number },
): Promise<number[]> {
  await using open = new AsyncDisposableStack();
  let other = visitor;
  for (let n = 1; n < streams; n += 1) {
    if (n % STREAMS_A_MEMBER === 0) other = await member(n / STREAMS_A_MEMBER);
    const stream = await openStream(other, accountId);
    open.defer(() => void stream.destroy());
  }
  const context = await openContext(browser, visitor);
  open.defer(() => context.close());
  const page = await context.newPage();
  const listening = page.waitForResponse((answer) => answer.url().endsWith("/stream"));
  await page.goto(`${visitor.url}/messages?live=on`);
  await listening;
  await page.locator("main [data-row]").first().waitFor();

  const durations: number[] = [];
  for (let n = 0; n < messages; n += 1) {
    const recipient = `491511234${5000 + n}`;
    const shown = page.evaluate<number>(badgeOf(recipient));
    const { messageId } = await send(visitor, key, recipient);
    const shownMs = await shown;
    const [row] = await db.query<{ final_at: Date }>(sql`
      select final_at from messages where account_id = ${accountId} and message_id = ${messageId}`);
    durations.push(shownMs - (row?.final_at.getTime() ?? Number.NaN));
  }
  return durations;
}

async function openStream({ url, cookie }: Visitor, accountId: string): Promise<IncomingMessage> {
  const address = `${url}/console/accounts/${accountId}/stream`;
  const asking = request(address, { headers: { cookie }, agent: false }).end();
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`A stream was refused: ${answer.statusCode}.`);
  return answer.resume();
}

/** Resolves when the frame with the badge is drawn. */
function badgeOf(recipient: string): string {
  return `new Promise((resolve) => {
    const look = () => {
      if (!document.querySelector('[aria-label$=": DELIVERED, ${recipient}"]')) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(Date.now()));
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { subtree: true, childList: true, attributes: true });
  })`;
}

async function send({ url }: Visitor, key: string, recipient: string): Promise<Message> {
  const answer = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ recipient, text: "Hello" }),
  });
  if (answer.status !== 202) throw new Error(`Not accepted: ${await answer.text()}`);
  return (await answer.json()) as Message;
}
