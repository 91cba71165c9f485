import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { sql } from "#platform";
import { eventually } from "../support/eventually.ts";
import { tryAgain, whileLate } from "../support/faults.ts";
import { held } from "../support/locks.ts";
import { startReceiver } from "../support/receiver.ts";
import { NO_PAGE, siteOfFile } from "../support/site.ts";

const { site, account, ada } = await siteOfFile({ credits: 120 });
const key = await site.key(account);

async function send(recipients: string[], more: object = {}, by = key): Promise<void> {
  const messages = recipients.map((recipient) => ({ recipient, text: "Hello", ...more }));
  const answer = await fetch(`${site.url}/v1/messages/batch`, {
    method: "POST",
    headers: { "x-api-key": by, "content-type": "application/json" },
    body: JSON.stringify({ messages }),
  });
  assert.equal(answer.status, 202);
}

/** The account's messages by status, once all of them have ended. */
function counted(): Promise<Record<string, number>> {
  return eventually("all messages have ended", async () => {
    const rows = await site.db.query<{ status: string; count: number }>(sql`
      select status, count(*) as count from messages
       where account_id = ${account.accountId} group by status`);
    const isOver = rows.every(({ status }) => !["QUEUED", "SENT"].includes(status));
    return isOver && Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  });
}

const figure = (page: Page, label: string) => page.locator(`[data-figure="${label}"]`);
const panel = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

test("the walk leads to a first delivered message: steps tick off live, and every snippet runs", async () => {
  const fresh = await site.account({ name: "Newcomer" });
  const owner = await site.person("New Comer", [[fresh, "owner"]]);
  await using receiver = await startReceiver();
  await using tab = await site.signedIn(owner, "/");
  const { page } = tab;
  await page.getByText("0 of 4 done").waitFor();
  assert.equal(await figure(page, "Messages").count(), 0);
  await tab.check("nothing yet");

  const freshKey = await site.key(fresh);
  await page.getByText("1 of 4 done").waitFor();
  await page.getByText("export POSTHORN_API_KEY=sms_…").waitFor();
  await tab.check("walk");
  const ran: string[] = [];
  const snippets: Record<string, string> = {};
  for (const language of Object.keys(COMMANDS)) {
    await page.getByRole("tab", { name: language, exact: true }).click();
    await page.getByRole("button", { name: `Copy ${language}` }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    snippets[language] = await page.evaluate<string>("navigator.clipboard.readText()");
  }
  for (const [language, snippet] of Object.entries(snippets)) {
    const output = run(language, snippet, freshKey);
    if (output === undefined) continue;
    assert.match(output, /messageId.*4915112345678/s, language);
    ran.push(language);
  }
  await page.getByText("2 of 4 done").waitFor();
  assert.ok(ran.includes("cURL") && ran.includes("Node"));
  await page.getByText(`npx posthorn listen --account ${fresh.accountId}`).waitFor();
  await send(["4915112345678"], { callbackUrl: receiver.url }, freshKey);
  await page.getByText("3 of 4 done").waitFor();
  await page.getByText("You get a link that works once.").waitFor();
  await page.evaluate(`fetch("/console/accounts/${fresh.accountId}/invitations", {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ role: "viewer" }) })`);

  await page.getByText("Next steps").waitFor({ state: "detached" });
  await figure(page, "Messages")
    .getByText(String(ran.length + 1), { exact: true })
    .waitFor();
});

const COMMANDS: Record<string, { file: string; command: string[]; isThere: string[] }> = {
  cURL: { file: "sample.sh", command: ["sh"], isThere: ["curl", "--version"] },
  Node: { file: "sample.mjs", command: [process.execPath], isThere: [process.execPath, "-v"] },
  Python: { file: "sample.py", command: ["python3"], isThere: ["python3", "--version"] },
  PHP: { file: "sample.php", command: ["php"], isThere: ["php", "--version"] },
  Go: { file: "sample.go", command: ["go", "run"], isThere: ["go", "version"] },
};

/** The snippet's output; undefined if nothing here can run it. */
function run(language: string, snippet: string, apiKey: string): string | undefined {
  const { file, command, isThere } = COMMANDS[language] ?? { file: "", command: [], isThere: [] };
  const [probe = "", ...probeArgs] = isThere;
  if (spawnSync(probe, probeArgs).status !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "posthorn-snippet-"));
  try {
    writeFileSync(join(folder, file), snippet);
    const [program = "", ...args] = command;
    const env = { ...process.env, POSTHORN_API_KEY: apiKey };
    const { stdout, stderr } = spawnSync(program, [...args, join(folder, file)], { env });
    return `${stdout.toString()}${stderr.toString()}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("numbers, table and CSV equal a count in the database, and follow changes of status", async () => {
  const delivered = Array.from({ length: 22 }, () => "4915112345678");
  await send([...delivered, "4915112340001", "4915112340002"]);
  await site.db.query(sql`
    update keys set expires_at = now() + interval '2 days' where account_id = ${account.accountId}`);
  const count = await counted();
  // A week has seven bars, while a day has 24.
  await using tab = await site.signedIn(ada, "/?range=7d");
  const { page } = tab;
  const all = Object.values(count).reduce((sum, each) => sum + each, 0);

  await figure(page, "Messages").getByText(String(all), { exact: true }).waitFor();
  const rate = `${(((count["DELIVERED"] ?? 0) / all) * 100).toFixed(2)} %`;
  assert.equal(await figure(page, "Delivery rate").innerText(), rate);
  await page.getByText("Credits are low.").waitFor();
  await page.getByText("The key “Test” expires soon.").waitFor();
  await page.getByRole("img", { name: /^Messages by status/ }).waitFor();
  await page.evaluate(KEEPS_NOTHING);
  // Nothing above the button moves it any more: it would be gone from under the pointer.
  await page.getByRole("button", { name: "Hide" }).click();
  await page.getByText("Next steps").waitFor({ state: "detached" });
  // The pointer is now over a chart, which would show a tooltip.
  await page.mouse.move(0, 0);
  await tab.check("full");
  await panel(page, "Messages by status").scrollIntoViewIfNeeded();
  await tab.picture("charts");
  // It is redrawn after the change of size.
  await eventually("both dots are whole", () => page.evaluate<boolean>(WHOLE_DOTS));
  await panel(page, "Webhooks").scrollIntoViewIfNeeded();
  await tab.picture("further down");
  await page.setViewportSize({ width: 375, height: 812 });
  await panel(page, "Messages by status").scrollIntoViewIfNeeded();
  await tab.picture("charts, phone");
  await page.setViewportSize({ width: 768, height: 812 });
  await eventually("every legend is in its panel", () => page.evaluate<boolean>(WHOLE_LEGENDS));
  await page.setViewportSize({ width: 1280, height: 800 });

  const byStatus = panel(page, "Messages by status");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    byStatus.getByRole("button", { name: /^CSV/ }).click(),
  ]);
  const csv = await textOf(await download.createReadStream());
  assert.deepEqual(sumsOf(csv.trim().split("\r\n"), ","), { ...NONE, ...count });
  await byStatus.getByRole("button", { name: "Show as table" }).click();
  const lines = await byStatus.getByRole("row").allInnerTexts();
  assert.deepEqual(sumsOf(lines, "\t"), { ...NONE, ...count });
  await tab.check("table");
  await send(["4915112345678"]);
  await figure(page, "Messages")
    .getByText(String(all + 1), { exact: true })
    .waitFor();
});

/** A browser may refuse storage; the library's own messages about that are not ours. */
const KEEPS_NOTHING = `for (const name of ["getItem", "setItem"]) {
  const act = Storage.prototype[name];
  Storage.prototype[name] = function (...given) {
    if (given[0].startsWith("posthorn-")) throw new Error("refused");
    return act.apply(this, given);
  };
}`;

/** Whether both dots are within their chart's width, and at its highest value within its height. */
const WHOLE_DOTS = `(() => {
  const dots = [...document.querySelectorAll(".recharts-line-dot")];
  const box = (element) => element.getBoundingClientRect();
  return dots.length === 2 && dots.every((dot) => {
    const chart = dot.closest("svg");
    const lines = [...chart.querySelectorAll(".recharts-cartesian-grid-horizontal line")];
    const [inner, outer] = [box(dot), box(chart)];
    const highest = Math.min(...lines.map((line) => box(line).top));
    return inner.left >= outer.left && inner.right <= outer.right && highest - inner.height / 2 >= outer.top;
  });
})()`;

/** Whether the labels of a chart's legend are within its panel, even on two lines. */
const WHOLE_LEGENDS = `(() => {
  const names = [...document.querySelectorAll(".recharts-legend-wrapper *")];
  const bottom = (element) => element.getBoundingClientRect().bottom;
  return names.length > 0 && names.every((name) => bottom(name) <= bottom(name.closest("section")));
})()`;

const NONE = { QUEUED: 0, SENT: 0, DELIVERED: 0, UNDELIVERED: 0, FAILED: 0 };

/** The sum of each status, from lines of which the first names the columns. */
function sumsOf([head = "", ...lines]: string[], separator: string): Record<string, number> {
  const names = head.split(separator).map((name) => name.trim());
  const sums: Record<string, number> = {};
  for (const name of Object.keys(NONE)) {
    const at = names.indexOf(name);
    sums[name] = lines.reduce((sum, line) => sum + Number(line.split(separator)[at]), 0);
  }
  return sums;
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

test("a range changes the address and queries each panel once; a bar narrows it, an empty one offers more, and it moves on", async () => {
  await counted();
  await using tab = await site.signedIn(ada, "/");
  const { page } = tab;
  await page.getByRole("img", { name: /^Messages by status/ }).waitFor();

  const before = tab.requests.length;
  await page.getByLabel("Range").selectOption("7d");
  await page.waitForURL(`${site.url}/?range=7d`);
  const asked = (range = "7d") =>
    tab.requests
      .slice(before)
      .flatMap((each) => new RegExp(`stats/(\\w+)\\?range=${range}`).exec(each)?.[1] ?? []);
  const panels = ["credits", "errors", "latency", "statuses", "summary", "webhooks"];
  await eventually("all panels asked", () => Promise.resolve(asked().length >= panels.length));
  assert.deepEqual(asked().toSorted(), panels);

  const surface = panel(page, "Messages by status").locator(".recharts-surface");
  // Until the panels above have their final size, the bar moves away from the pointer.
  await eventually("a click on a bar narrows the range", async () => {
    await surface.scrollIntoViewIfNeeded();
    const chart = await surface.boundingBox();
    assert.ok(chart);
    await page.mouse.move(chart.x + chart.width - 30, chart.y + chart.height / 2);
    await page.mouse.click(chart.x + chart.width - 40, chart.y + chart.height / 2);
    return page.waitForURL(/\?from=.*&to=/, { timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  });
  await tab.go("/?from=2026-01-01T00:00:00.000Z&to=2026-01-02T00:00:00.000Z");
  await page.getByText("Nothing in this range").waitFor();
  await tab.check("no match");
  await page.evaluate(QUICK_MINUTES);
  await page.getByRole("button", { name: "Show the last 30 days" }).click();
  await page.waitForURL(`${site.url}/?range=30d`);
  await eventually("all panels asked again", () => {
    const again = asked("30d");
    return Promise.resolve(panels.every((name) => again.indexOf(name) < again.lastIndexOf(name)));
  });
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByText("in 2 days").waitFor();
  await page.evaluate(TOMORROW);
  await page.getByText("in 23 hours").waitFor();
});

/** Speeds up timers: a minute takes a second. The stream's shorter intervals stay. */
const QUICK_MINUTES = `{
  const real = setInterval;
  window.setInterval = (act, ms) => real(act, ms < 30_000 ? ms : ms / 60);
}`;

const TOMORROW = `{
  const real = Date.now;
  Date.now = () => real() + 25 * 3_600_000;
}`;

test("days begin at midnight in the reader's zone, which the page names; messages in progress are counted along with final ones", async () => {
  const travel = await site.account({ name: "Travel" });
  const owner = await site.person("Trav Eller", [[travel, "viewer"]]);
  await send(["4915112345678"], {}, await site.key(travel));
  // Half an hour before midnight UTC: in Paris the next day has begun.
  const [row] = await site.db.query<{ at: Date }>(
    sql`select date_trunc('day', now(), 'UTC') - interval '30 minutes' as at`,
  );
  assert.ok(row);
  await site.db.query(sql`
    insert into stat_changes (account_id, changes)
    values (${travel.accountId}, array[row(${row.at}::timestamptz, null, 'QUEUED', null, null, 7, 7)::stat_change])`);

  for (const [zone, name] of [
    ["UTC", "UTC"],
    ["Europe/Paris", "Paris time"],
  ] as const) {
    await using tab = await site.signedIn(owner, "/?range=7d", { zone });
    await tab.page.getByText(`Times shown in ${name}`).waitFor();
    const byStatus = panel(tab.page, "Messages by status");
    await byStatus
      .getByText("8 messages: 1 delivered, 0 undelivered or failed, 7 not final yet.")
      .waitFor();
    await byStatus.getByRole("button", { name: "Show as table" }).click();
    const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: zone });
    const line = byStatus.getByRole("row").filter({ hasText: `${day.format(row.at)}, 00:00:00` });
    await line.getByRole("cell", { name: "7", exact: true }).waitFor();
  }
});

test("the line of state has dots between its parts, and on a phone none at the ends of its lines", async () => {
  const calm = await site.account({ name: "Calm", credits: 1_000 });
  await send(["4915112345678"], {}, await site.key(calm));
  const boss = await site.person("Grace Hopper", [[calm, "viewer"]], true);
  await using tab = await site.signedIn(boss, "/");
  const { page } = tab;
  const standing = page.getByRole("group", { name: "Current state" });
  await standing.getByRole("link").nth(1).waitFor();

  assert.match(await standing.innerText(), /·/);
  await page.setViewportSize({ width: 375, height: 812 });
  assert.doesNotMatch(await standing.innerText(), /·/);
  await tab.picture("standing");
});

test("late numbers and panels show placeholders; one that fails says so, and the others stay", async () => {
  // Requests that wait too long for a table are told to retry.
  await using tab = await site.signedIn(ada, "/keys", { statuses: [500, 503] });
  const { page } = tab;
  await whileLate({ site, tab, link: "Overview" }, async () => {
    await page.getByRole("status", { name: "Loading" }).waitFor();
    await tab.check("loading");
  });
  await page.getByRole("img", { name: /^Messages by status/ }).waitFor();
  // Other sessions find the table gone, once they no longer have to wait for it.
  await held(site.db, async (tx) => {
    await tx.query(sql`alter table stat_errors rename to stat_errors_away`);
    await page.reload();
    await panel(page, "Delivery errors").getByRole("status", { name: "Loading" }).waitFor();
    await page.getByRole("img", { name: /^Messages by status/ }).waitFor();
  });
  try {
    await panel(page, "Delivery errors").getByRole("alert").waitFor();
    await page.getByRole("img", { name: /^Messages by status/ }).waitFor();
    await figure(page, "Messages").and(page.getByText(/^\d+$/)).waitFor();
    await panel(page, "Delivery errors").scrollIntoViewIfNeeded();
    await tab.check("error");
  } finally {
    await site.db.query(sql`alter table stat_errors_away rename to stat_errors`);
  }
  await tryAgain(page, page.getByRole("link", { name: "REJECTED_BY_CARRIER" }));
  await panel(page, "Delivery errors").getByText("ask the carrier if it is unclear").waitFor();
});

test("webhook counts that fail hide no other number or panel, even while they are requested again", async () => {
  await send(["4915112340001"]);
  await using tab = await site.signedIn(ada, NO_PAGE, { statuses: [0] });
  const { page } = tab;
  // Without events, only the page itself asks.
  await page.route(/\/stream$/, () => undefined);
  const answer = Promise.withResolvers<void>();
  let asked = 0;
  await page.route(/\/stats\/webhooks\?/, async (route) => {
    asked += 1;
    // The first read and its retry fail before there is a panel, which then reads once more.
    if (asked > 2) await answer.promise;
    await route.abort("internetdisconnected");
  });

  await page.goto(site.url);
  await eventually("the panel has asked", () => Promise.resolve(asked > 2));
  await figure(page, "Messages").and(page.getByText(/^\d+$/)).waitFor();
  await panel(page, "Delivery errors").waitFor();
  answer.resolve();
  await panel(page, "Webhooks").getByRole("alert").waitFor();
  assert.equal(await panel(page, "Webhooks").getByText("…").count(), 0, "nothing is awaited");
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("every panel dims the numbers of another range until those of the chosen one come", async () => {
  await send(["4915112345678"]);
  await using tab = await site.signedIn(ada, "/");
  const { page } = tab;
  await panel(page, "Webhooks").getByText(/^\d+$/).first().waitFor();
  const answer = Promise.withResolvers<void>();
  await page.route(/\/stats\/\w+\?range=7d/, (route) =>
    answer.promise.then(() => route.continue()),
  );

  await page.getByLabel("Range").selectOption("7d");

  for (const name of ["Messages by status", "Delivery errors", "Webhooks"])
    await panel(page, name).locator("[data-stale=true]").waitFor();
  answer.resolve();
  await panel(page, "Webhooks").locator("[data-stale=false]").waitFor();
});

test("next steps that cannot be read say so", async () => {
  await using tab = await site.signedIn(ada, NO_PAGE, { statuses: [0] });
  const { page } = tab;
  await page.route("**/progress", (route) => route.abort("internetdisconnected"));
  await page.goto(site.url);
  await figure(page, "Messages").and(page.getByText(/^\d+$/)).waitFor();
  await page.getByRole("alert").waitFor();

  await page.unroute("**/progress");
  await tryAgain(page, page.getByRole("region", { name: "Your first message" }));
});

test("on the way back by keyboard the header covers nothing that has the focus, and no two buttons have one name", async () => {
  await send(["4915112345678"]);
  await using tab = await site.signedIn(ada, "/");
  const { page } = tab;
  const first = page.getByRole("button", { name: "Show as table: Messages by status" });
  await first.waitFor();
  const buttons = page.getByRole("main").getByRole("button");
  const names = await buttons.evaluateAll((all) =>
    all.map((each) => each.getAttribute("aria-label") ?? each.textContent),
  );
  assert.deepEqual(names, [...new Set(names)]);

  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  await page.getByRole("button", { name: "Show as table: Time to delivery" }).focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await tab.focusIs("Show as table: Messages by status");
  const header = await page.getByRole("banner").boundingBox();
  const { y = 0 } = (await first.boundingBox()) ?? {};
  assert.ok(header && y >= header.height, `it stands at ${y}`);
});

test("with a font up to twice as large in the browser, no page scrolls sideways on a phone", async () => {
  await send(["4915112340002"]);
  const [failed] = await site.db.query<{ id: string }>(sql`
    select message_id as id from messages
     where account_id = ${account.accountId} and recipient = '4915112340002' limit 1`);
  await using tab = await site.signedIn(ada, NO_PAGE, { isPhone: true });
  const { page } = tab;
  await page.setViewportSize({ width: 360, height: 740 });
  const session = await tab.context.newCDPSession(page);
  await page.goto(`${site.url}/`);
  const wider: Record<string, number> = {};

  for (const [path, text] of [
    ["/", "REJECTED_BY_CARRIER"],
    ["/messages", "4915112340002"],
    [`/messages/${failed?.id}`, "REJECTED_BY_CARRIER"],
    ["/credits", "Credits per day"],
    ["/team", "What each role may do"],
    ["/compose", "Simulator test numbers"],
    ["/settings", account.accountId],
  ] as const) {
    await tab.go(path);
    await page.getByRole("main").getByText(text).first().waitFor();
    for (const standard of [20, 23, 32]) {
      const fontSizes = { standard, fixed: Math.round((standard * 13) / 16) };
      await session.send("Page.setFontSizes", { fontSizes });
      const by = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      wider[`${path} at ${standard}`] = await page.evaluate<number>(by);
    }
    await tab.picture(`large ${path}`);
  }

  assert.deepEqual([...new Set(Object.values(wider))], [0], JSON.stringify(wider));
});
