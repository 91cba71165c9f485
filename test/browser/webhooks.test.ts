import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { rawSql, sql } from "#platform";
import { selfSigned } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { tryAgain, whileLate } from "../support/faults.ts";
import { sendUnanswered } from "../support/lost-answer.ts";
import { type RawServer, startRawServer } from "../support/raw-server.ts";
import { type Received, type Receiver, startReceiver } from "../support/receiver.ts";
import { type Account, siteOfFile } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";

const { site, account, ada } = await siteOfFile();
const key = await site.key(account);
let receiver: Receiver;
let slow: Receiver;
let tls: RawServer;
let ways: Way[];
before(async () => {
  [receiver, slow, tls] = await Promise.all([
    startReceiver(answerByPath),
    startReceiver(() => "hold"),
    startRawServer(() => undefined, { tls: selfSigned(["127.0.0.1"]) }),
  ]);
  // Sent at once but checked late, because one takes the 10 s that a receiver has.
  ways = waysToAnswer();
  for (const way of ways) way.messageId = await send(way.url);
});
after(() => Promise.all([receiver, slow, tls].map((each) => each[Symbol.asyncDispose]())));

const HUGE = Buffer.alloc(100_000_000, "x");

function answerByPath({ path }: Received) {
  const status = Number(/\d+/.exec(path)?.[0] ?? 200);
  return { status, ...(path === "/huge" ? { body: HUGE } : {}) };
}

type Way = {
  url: string;
  badge: string;
  words: RegExp | undefined;
  steps: string[];
  messageId: string;
};

/** Every way a receiver can answer, and what the page says about it. */
function waysToAnswer(): Way[] {
  const at = (path: string) => receiver.url.replace("/hook", path);
  const all = ["First byte after", "Total"];
  const way = (url: string, badge: string, words?: RegExp, steps = ["Total"]): Way => ({
    url,
    badge,
    words,
    steps,
    messageId: "",
  });
  return [
    way(at("/200"), "HTTP 200", undefined, all),
    way(at("/500"), "HTTP 500", /answered 500. See its own log/, all),
    way(at("/302"), "HTTP 302", /Redirects are never followed/, all),
    way(at("/410"), "HTTP 410", /it does not want this one any more/, all),
    way(at("/huge"), "HTTP 200", undefined, all),
    way(slow.url, "No answer", /not complete within 10 seconds/, ["Connect", "Total"]),
    way(`https://127.0.0.1:${tls.port}/`, "No answer", /No known authority vouches/, ["TLS"]),
    way("http://127.0.0.1:4/", "No answer", /The connection was refused/),
  ];
}

async function send(callbackUrl: string, by = key): Promise<string> {
  const answer = await fetch(`${site.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": by, "content-type": "application/json" },
    body: JSON.stringify({ recipient: "4915112345678", text: "Hello", callbackUrl }),
  });
  assert.equal(answer.status, 202);
  return ((await answer.json()) as { messageId: string }).messageId;
}

const dialog = (page: Page) => page.getByRole("dialog");
const rows = (page: Page) => page.locator("main [data-row]");

function signatureOf({ body }: Received, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}

/** Asks the page's API from within the page. */
function ask<Answer>(page: Page, path: string): Promise<Answer> {
  const address = `/console/accounts/${account.accountId}/${path}`;
  return page.evaluate<Answer>(`fetch("${address}").then((answer) => answer.json())`);
}

test("without webhooks the page says what will appear; a test event shows the answer and keeps the focus", async () => {
  const fresh = await site.account({ name: "Fresh" });
  const owner = await site.person("Fresh Owner", [[fresh, "owner"]]);
  await using target = await startReceiver(() => ({ status: 500, body: "no" }));
  await using tab = await site.signedIn(owner, "/webhooks", { statuses: [422] });
  const { page } = tab;
  await page.getByText("No webhooks yet").waitFor();
  await tab.check("nothing yet");

  await page.getByRole("button", { name: "Send test event" }).click();
  const press = (name: string) => dialog(page).getByRole("button", { name, exact: true }).click();
  await press("Send");
  await dialog(page).getByText("Enter an address.").waitFor();
  await dialog(page).getByLabel("Address").fill("http://169.254.169.254/latest");
  await press("Send");
  await dialog(page).getByText("a reserved address that is never called").waitFor();
  await dialog(page).getByLabel("Address").and(page.locator(":focus")).waitFor();
  await dialog(page).getByLabel("Address").fill(target.url);
  await dialog(page).getByText("a reserved address").waitFor({ state: "detached" });
  assert.equal(await dialog(page).getByRole("alert").count(), 0, "nor is it told elsewhere");
  await press("Send");
  await dialog(page).getByText("The receiver did not accept it").waitFor();
  await dialog(page).getByText("The receiver answered 500. See its own log").waitFor();
  target.answer = () => 204;
  await press("Send again");
  await dialog(page).getByText("The receiver accepted it").waitFor();
  await dialog(page).locator("button:focus", { hasText: "Send again" }).waitFor();

  await tab.check("test event");
  const body = await dialog(page).getByLabel("Body").textContent();
  const [, sent] = await target.arrived(2);
  assert.equal(body, sent?.body.toString());
  assert.deepEqual([sent?.headers["x-sms-test"], sent?.headers["x-sms-attempt"]], ["true", "1"]);

  await dialog(page).getByLabel("Address").fill("http://169.254.169.254/latest");
  await press("Send again");
  await dialog(page).getByText("a reserved address that is never called").waitFor();
  assert.equal(await dialog(page).getByText("The receiver accepted it").count(), 0);
});

test("a delivery is replayed with the same id and bytes and a valid signature, and its button keeps the focus; for too many the limit is shown", async () => {
  const [good] = ways;
  const path = `/webhooks?messageId=${good?.messageId}`;
  await using tab = await site.signedIn(ada, path, { statuses: [422] });
  const { page } = tab;
  const mine = () => receiver.received.filter(({ path }) => path === "/200");
  await rows(page).nth(1).waitFor();
  await eventually("both came", () => Promise.resolve(mine().length === 2));

  await page.getByRole("link", { name: /message\.sent/ }).click();
  const first = dialog(page).getByRole("region", { name: "Attempt 1", exact: true });
  await first.locator("details[open]").waitFor();
  await dialog(page).getByRole("button", { name: "Replay" }).click();
  await dialog(page).getByRole("region", { name: "Attempt 2" }).getByText("HTTP 200").waitFor();
  await dialog(page).locator("button:focus", { hasText: "Replay" }).waitFor();
  const newest = dialog(page).getByRole("region").first();
  assert.equal(await newest.getAttribute("aria-label"), "Attempt 2", "the newest comes first");
  assert.equal(await first.locator("details[open]").count(), 1, "what one reads stays open");

  const [sent, again] = mine().filter(({ headers }) => headers["x-sms-event"] === "message.sent");
  assert.equal(again?.headers["webhook-id"], sent?.headers["webhook-id"]);
  assert.deepEqual(again?.body, sent?.body);
  assert.equal(again?.headers["x-sms-signature"], sent?.headers["x-sms-signature"]);
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  const before = mine().length;
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  const selection = page.getByRole("region", { name: "Selection" });
  await selection.getByText("2 selected").waitFor();
  await tab.check("selected");
  const press = () => selection.getByRole("button", { name: "Replay" }).click();
  const tooMany = JSON.stringify({ deliveryIds: Array.from({ length: 101 }, String) });
  await page.route("**/replays", (route) => route.continue({ postData: tooMany }));
  await press();
  await page.getByRole("alert").getByText("100").waitFor();
  await page.unroute("**/replays");
  await press();
  await page.getByText("2 replays started").waitFor();
  await eventually("both came again", () => Promise.resolve(mine().length === before + 2));

  await site.db.query(sql`
    update webhook_attempts set at = timestamptz '2026-01-02 12:00Z'
     where message_id = ${good?.messageId} and attempt = 2`);
  await page
    .getByRole("link", { name: `…${good?.messageId.slice(-12)}` })
    .first()
    .click();
  await page.getByText("Attempt 3").waitFor();
  await page.getByText("2 Jan 2026, 13:00:00").first().waitFor();
  await tab.check("attempts of a message");
  await page.getByRole("link", { name: /^Webhook .* 3 attempts$/ }).click();
  await dialog(page).getByRole("region", { name: "Attempt 3" }).waitFor();
});

test("exhausted deliveries are counted and replayed with progress, and the count equals the rows", async () => {
  const shop = await site.account({ name: "Shop" });
  const owner = await site.person("Shop Owner", [[shop, "owner"]]);
  const shopKey = await site.key(shop);
  await using failing = await startReceiver(() => 500);
  for (let sent = 0; sent < 3; sent += 1) await send(failing.url, shopKey);
  await failing.arrived(3);
  await exhaust(shop, 3);
  await using tab = await site.signedIn(owner, "/webhooks?state=exhausted");
  const { page } = tab;
  await rows(page).nth(2).waitFor();
  const listed = await rows(page).count();

  failing.answer = () => 200;
  await page.getByRole("button", { name: "Replay exhausted…" }).click();
  const answer = Promise.withResolvers<void>();
  await page.route("**/replays", (route) => answer.promise.then(() => route.continue()));
  await dialog(page).getByRole("button", { name: "Count deliveries" }).click();
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await dialog(page).getByLabel("Exhausted since").fill(anHourAgo.slice(0, 16));
  answer.resolve();
  // A late count is not that of the time entered meanwhile.
  await dialog(page).getByRole("button", { name: "Count deliveries" }).click();
  await dialog(page).getByText(`${listed} deliveries would be replayed.`).waitFor();
  await tab.check("replay");
  await dialog(page)
    .getByRole("button", { name: `Replay ${listed}`, exact: true })
    .click();
  await dialog(page).getByText("Replay finished").waitFor();
  for (const n of [0, 1, 2]) await rows(page).nth(n).getByText("Delivered").waitFor();
  await page.reload();
  await dialog(page).getByText(`${listed} delivered, 0 failed, 0 waiting`).waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).last().click();

  await page.getByText("No deliveries match").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).last().click();
  await page.getByRole("cell", { name: "8", exact: true }).first().waitFor();
  assert.equal(page.url(), `${site.url}/webhooks`, "a replay that is over is not shown again");
  const first = await rows(page).first().getAttribute("data-row");
  await send(failing.url, shopKey);
  await page.getByRole("button", { name: /^Show [12] new/ }).waitFor();
  assert.equal(await rows(page).first().getAttribute("data-row"), first, "no row moves");
  await page.keyboard.press(".");
  await page.locator(`main [data-row]:first-child:not([data-row="${first}"])`).waitFor();
  await page.getByRole("tab", { name: "Receivers" }).click();
  await page
    .getByRole("row")
    .filter({ hasText: failing.url.replace("/hook", "") })
    .waitFor();
  await tab.check("receivers");
});

for (const { what, asks, told, open } of [
  {
    what: "one delivery",
    asks: "**/replay",
    told: "Replay started",
    async open(page: Page) {
      await page.getByRole("link", { name: /message\.sent/ }).click();
      return dialog(page).getByRole("button", { name: "Replay" });
    },
  },
  {
    what: "a selection",
    asks: "**/replays",
    told: "2 replays started",
    async open(page: Page) {
      await page.getByRole("checkbox", { name: "Select all on this page" }).check();
      return page
        .getByRole("region", { name: "Selection" })
        .getByRole("button", { name: "Replay" });
    },
  },
  {
    what: "all exhausted deliveries",
    asks: "**/replays",
    told: "Replaying",
    async open(page: Page) {
      await page.getByRole("button", { name: "Replay exhausted…" }).click();
      await dialog(page).getByRole("button", { name: "Count deliveries" }).click();
      return dialog(page).getByRole("button", { name: /^Replay \d+$/ });
    },
  },
]) {
  test(`a form to replay ${what} resubmitted because its answer was lost starts no second replay`, async () => {
    const shop = await site.account({ name: "Lossy" });
    const owner = await site.person("Patient Owner", [[shop, "owner"]]);
    await using failing = await startReceiver(() => 500);
    await send(failing.url, await site.key(shop));
    await failing.arrived(1);
    await exhaust(shop, 1);
    await using tab = await site.signedIn(owner, "/webhooks", { statuses: [0] });
    const { page } = tab;
    const submit = await open(page);
    await sendUnanswered(page, submit, asks);

    await submit.click();
    await page.getByText(told, { exact: true }).waitFor();

    const replays = await site.db.query(sql`
      select total from webhook_replays where account_id = ${shop.accountId}`);
    assert.equal(replays.length, 1);
  });
}

test("every answer of a receiver is described correctly, with its timings and only as text", async () => {
  // Answers of private addresses are kept only with the embedded database, so insert one here.
  const html = "<img src=x onerror=alert(1)>";
  const tried = () =>
    site.db.query<{ message_id: string }>(sql`select message_id from webhook_attempts`);
  await eventually("every receiver was tried", async () => {
    const known = new Set((await tried()).map(({ message_id }) => message_id));
    return ways.every(({ messageId }) => known.has(messageId));
  });
  await site.db.query(sql`
    update webhook_attempts set answer = ${Buffer.from(html)}, answer_headers = '{"x-test": "yes"}'
     where message_id = ${ways[1]?.messageId}`);
  await using tab = await site.signedIn(ada, "/webhooks?event=message.sent");
  const { page } = tab;
  await rows(page)
    .nth(ways.length - 1)
    .waitFor();
  await tab.check("list");
  await page.setViewportSize({ width: 1024, height: 800 });
  assert.equal(await page.evaluate(WIDER_BY), 0, "the table fits");
  await page.setViewportSize({ width: 1280, height: 800 });

  for (const { badge, words, steps, messageId } of ways) {
    await page
      .locator(`[data-row^="${messageId.slice(0, -1)}"]`)
      .getByRole("link")
      .first()
      .click();
    const first = dialog(page).getByRole("region", { name: "Attempt 1", exact: true });
    await first.getByText(badge, { exact: true }).waitFor();
    if (words) await first.getByText(words).waitFor();
    for (const step of steps) await first.getByText(step).waitFor();
    if (badge === "HTTP 500") {
      // Only the newest answer is open by itself, and there may be a newer one by now.
      const answer = first.getByText(html);
      if (!(await answer.isVisible())) await first.getByText("Answer", { exact: true }).click();
      await answer.waitFor();
      await first.getByText("x-test").waitFor();
      await dialog(page)
        .getByText(/^Attempt [2-7] of 7: /)
        .waitFor();
      await tab.check("drawer");
    }
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
  }

  assert.equal(await page.locator("img[src=x]").count(), 0);
  await page.getByRole("tab", { name: "Receivers" }).click();
  const refusing = page.getByRole("row", { name: /127\.0\.0\.1:4 / });
  await refusing.getByText("Down").waitFor();
  await refusing.getByRole("link").click();
  await page.getByRole("button", { name: "Remove the filter State: Waiting, Retrying" }).waitFor();
  await eventually("its deliveries that wait", async () => (await rows(page).count()) === 2);
});

const WIDER_BY = `{
  const { scrollWidth, clientWidth } = document.querySelector("main section[tabindex]");
  scrollWidth - clientWidth;
}`;

test("however long the name of a receiver's header is, its value can be read", async () => {
  const messageId = await send(receiver.url);
  await eventually("it was tried", async () => {
    const headers = JSON.stringify({ [`x-${"long".repeat(50)}`]: "a value" });
    const tried = await site.db.query(sql`
      update webhook_attempts set answer = '', answer_headers = ${headers}
       where message_id = ${messageId} returning 1`);
    return tried.length > 0;
  });
  await using tab = await site.signedIn(ada, `/webhooks?event=message.sent&messageId=${messageId}`);
  await rows(tab.page).first().getByRole("link").first().click();
  const value = dialog(tab.page).getByText("a value", { exact: true });
  await value.waitFor();

  const { height } = (await value.boundingBox()) ?? assert.fail("it is not shown");
  assert.ok(height < 30, `on one line, not ${height} pixels high`);
});

test("a receiver has one name in both lists, shown whole, and the table of receivers fits into a small window", async () => {
  const [plain, secure] = ["http://127.0.0.1:4", `127.0.0.1:${tls.port}`];
  await site.db.query(sql`
    insert into webhook_hosts (account_id, host_key, origin, health, since, p95_ms, last_at, last_ok_at)
    values (${account.accountId}, 1, ${"https://hooks.northwind-traders.example.com:8443"}, 'failing',
            now(), 9999, now(), now() - interval '3 days')`);
  await using tab = await site.signedIn(ada, "/webhooks?event=message.sent");
  const { page } = tab;
  const cell = (name: string) => page.getByRole("cell", { name, exact: true }).first();
  const isCut = (name: string) =>
    cell(name).evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
  await page.setViewportSize({ width: 1024, height: 800 });

  for (const name of [plain, secure]) assert.equal(await isCut(name), false, name);
  await tab.picture("receivers of deliveries in a small window");
  await page.getByRole("tab", { name: "Receivers" }).click();
  for (const name of [plain, secure, "hooks.northwind-traders.example.com:8443"])
    assert.equal(await isCut(name), false, name);
  assert.equal(await page.evaluate(WIDER_BY), 0, "the table fits");
  await tab.picture("receivers in a small window");
  await page.setViewportSize({ width: 375, height: 812 });
  const last = rows(page).filter({ hasText: "hooks.northwind" });
  await last.waitFor();
  const isWhole = await last
    .getByText("hooks.northwind")
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth);
  assert.ok(isWhole, "on a phone, too");
  await tab.picture("receivers on a phone");
});

test("among thousands the next page continues from the rows shown, one in the range is found by its id, a search cut short resumes, and filters stay as typed", async () => {
  const busy = await site.account({ name: "Busy" });
  const owner = await site.person("Busy Owner", [[busy, "owner"]]);
  await site.db.query(sql`
    with made as materialized (
      select (left(id_floor(now())::text, 24) || lpad(to_hex(n), 11, '0') || '0')::uuid as id
        from generate_series(1, 2001) n
    ), told as (
      insert into events (message_id, sequence, account_id, status, at, callback_url, body)
      select id, 2, ${busy.accountId}, 'SENT', now(), 'https://shop.example.com/sms', '{}' from made
    )
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, http_status, total_ms, ended)
    select ${busy.accountId}, id, 2, 1, now(), 0, 200, 31, 'delivered' from made`);
  await site.db.query(rawSql("analyze"));
  await using tab = await site.signedIn(owner, "/webhooks?range=24h");
  const { page } = tab;
  const first = () => rows(page).first().getAttribute("data-row");
  const newest = await first();
  const heading = page.getByRole("columnheader", { name: "State" });
  await rows(page).last().scrollIntoViewIfNeeded();
  const { y = 0 } = (await heading.boundingBox()) ?? {};
  assert.ok(y > 0, "the headings stay in sight");
  await send(receiver.url, await site.key(busy));
  await page.getByRole("button", { name: /^Show [12] new/ }).waitFor();
  assert.equal(await first(), newest, "no row moves");
  await page.setViewportSize({ width: 375, height: 812 });
  await page.getByRole("button", { name: "Filters (1)" }).waitFor();
  await page.getByRole("group", { name: "State" }).waitFor({ state: "hidden" });
  await page.evaluate("scrollTo(0, 0)");
  const row = await rows(page).first().boundingBox();
  assert.ok(row && row.y < 812 / 2, "on a phone more than half of the screen is the list's");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "Older", disabled: false }).click();
  await page.getByRole("button", { name: "Newer", disabled: false }).waitFor();
  const second = await first();
  const at26 = (2001 - 25).toString(16);
  assert.ok(second?.endsWith(`${at26}2`), "what follows those shown, whatever came meanwhile");
  await page.reload();
  await page.getByRole("button", { name: "Newer", disabled: false }).waitFor();
  assert.deepEqual([await first(), second === newest], [second, false], "the same page again");
  const field = (name: string) => page.getByRole("textbox", { name });
  const [host, status] = [field("Receiver"), field("HTTP status")];
  const message = field("Message id");

  await message.fill(` ${second?.slice(0, -1)}0 `);
  await page.getByText(/^Message id: …/).waitFor();
  await rows(page).nth(1).waitFor({ state: "detached" });
  assert.equal(await first(), second);
  await message.fill("");
  await page.waitForURL(`${site.url}/webhooks?range=24h`);
  await status.fill("404");
  await page.waitForURL(/httpStatus=404/);
  await status.press("Backspace");
  await page.waitForURL(`${site.url}/webhooks?range=24h`);
  assert.equal(await status.inputValue(), "40");
  await host.fill("nobody ");
  await page.getByText("None on this page").waitFor();
  assert.equal(await host.inputValue(), "nobody ");
  await page.getByRole("button", { name: "Look further back" }).click();
  await page.getByText("No deliveries match").waitFor();
});

/** Turns the next failed attempt into the last, instead of waiting nine hours. */
async function exhaust({ accountId }: Account, wanted: number): Promise<void> {
  await eventually("they are exhausted", async () => {
    await site.db.query(sql`
      update webhook_deliveries set step = 6, attempts = 6, next_at = now()
       where account_id = ${accountId} and sequence = 2 and leased_until is null and attempts between 1 and 5`);
    const ended = await site.db.query(sql`
      select 1 from webhook_attempts where account_id = ${accountId} and ended = 'exhausted'`);
    return ended.length >= wanted;
  });
}

async function reveal({ page }: Tab): Promise<string> {
  await page.getByRole("button", { name: "Reveal" }).click();
  await dialog(page).getByRole("button", { name: "Reveal" }).click();
  await page.getByText(/^Hides in/).waitFor();
  const secret = (await page.getByLabel("Signing secret").last().textContent()) ?? "";
  assert.match(secret, /^whsec_.{44}$/);
  site.secrets.set(secret, /signing-secret\/(?:reveal|rotate)$/);
  return secret;
}

const SAMPLES = {
  Node: "verify-webhook.mjs",
  Python: "verify_webhook.py",
  PHP: "verify_webhook.php",
  Go: "verify_webhook.go",
  Ruby: "verify_webhook.rb",
};

test("the samples on the page are those of the docs; they verify a real delivery and reject a changed byte", async () => {
  await using tab = await site.signedIn(ada, "/webhooks?tab=secret");
  const { page } = tab;
  const secret = await reveal(tab);
  await page.getByRole("tab", { name: "Verify" }).click();

  const shown: Record<string, string> = {};
  for (const [language, file] of Object.entries(SAMPLES)) {
    await page.getByRole("tab", { name: language, exact: true }).click();
    await page.getByRole("button", { name: `Copy ${language}` }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    shown[language] = await page.evaluate<string>("navigator.clipboard.readText()");
    const kept = readFileSync(new URL(`../../docs/samples/${file}`, import.meta.url), "utf8");
    assert.equal(shown[language], kept);
  }
  await tab.check("verify");
  const count = receiver.received.length;
  await send(receiver.url);
  const delivered = (await receiver.arrived(count + 1)).at(count);
  assert.ok(delivered);

  const changed = { ...delivered, body: Buffer.from(delivered.body) };
  changed.body[10] = (changed.body[10] ?? 0) ^ 1;
  const hasPython = spawnSync("python3", ["--version"]).status === 0;
  for (const run of hasPython ? [runNode, runPython] : [runNode]) {
    assert.equal(run(shown, delivered, secret), "true");
    assert.equal(run(shown, changed, secret), "false");
  }
});

function runNode({ Node: sample = "" }: Record<string, string>, got: Received, secret: string) {
  const use = `console.log(verifyWebhook(Buffer.from(process.env.BODY, "base64"), JSON.parse(process.env.HEADERS), process.env.SECRET))`;
  return run([process.execPath, "--input-type=module", "-e", `${sample}\n${use}`], got, secret);
}

function runPython({ Python: sample = "" }: Record<string, string>, got: Received, secret: string) {
  const use = `import json, os
e = os.environ
print(str(verify_webhook(base64.b64decode(e["BODY"]), json.loads(e["HEADERS"]), e["SECRET"])).lower())`;
  return run(["python3", "-c", `${sample}\n${use}`], got, secret);
}

function run([program = "", ...args]: string[], { body, headers }: Received, secret: string) {
  const env = { BODY: body.toString("base64"), HEADERS: JSON.stringify(headers), SECRET: secret };
  const { stdout, stderr } = spawnSync(program, args, { env: { ...process.env, ...env } });
  return stdout.toString().trim() || stderr.toString();
}

test("on a phone too, a delivery awaiting a retry shows when and the last answer, and can be selected", async () => {
  await using tab = await site.signedIn(ada, "/webhooks?state=retrying", { isPhone: true });

  const row = tab.page.getByRole("listitem").filter({ hasText: "Retrying" }).first();

  await row.getByText(/^(?:in .+|due now|receiver paused|under way)$/).waitFor();
  await row.getByText(/^(?:HTTP \d{3}|No answer)$/).waitFor();
  await row.getByRole("checkbox").check();
  await tab.page.getByRole("region", { name: "Selection" }).getByText("1 selected").waitFor();
});

test("a viewer sees deliveries without their contents, and why other buttons are disabled", async () => {
  const viewer = await site.person("View Only", [[account, "viewer"]]);
  await using tab = await site.signedIn(viewer, "/webhooks?event=message.sent&httpStatus=500");
  const { page } = tab;
  site.secrets.set("4915112345678", /(?!)/);
  try {
    await page.getByRole("link", { name: /^Open delivery: Retrying/ }).click();
    await dialog(page).getByText("Your role cannot see the body.").waitFor();
    await dialog(page)
      .getByText(/^Not shown/)
      .first()
      .waitFor();
    await dialog(page).getByRole("button", { name: "Replay" }).focus();
    // The keyboard's focus shows the reason.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Shift+Tab");
    await page.getByRole("tooltip", { name: /This needs the developer role/ }).waitFor();
    await page.keyboard.press("Escape");
    for (const name of ["Send test event", "Replay exhausted…"])
      assert.equal(
        await page.getByRole("button", { name }).getAttribute("aria-disabled"),
        "true",
        name,
      );
    await page.getByRole("tab", { name: "Secret" }).click();
    for (const name of ["Reveal", "Rotate…"])
      assert.equal(
        await page.getByRole("button", { name }).getAttribute("aria-disabled"),
        "true",
        name,
      );
  } finally {
    site.secrets.delete("4915112345678");
  }
});

test("pages of the list show every delivery once; late ones show placeholders, failed ones can be retried", async () => {
  await using tab = await site.signedIn(ada, "/keys", { statuses: [500] });
  const { page } = tab;
  await whileLate({ site, tab, link: "Webhooks" }, async () => {
    await page.getByRole("status", { name: "Loading" }).locator("div").first().waitFor();
  });
  await rows(page).first().waitFor();
  const all = await ask<{ data: { deliveryId: string }[] }>(page, "webhook-deliveries?limit=100");
  const seen: string[] = [];
  for (let cursor = ""; ;) {
    const path = `webhook-deliveries?limit=5${cursor}`;
    const part = await ask<{ data: { deliveryId: string }[]; nextCursor: string | null }>(
      page,
      path,
    );
    seen.push(...part.data.map(({ deliveryId }) => deliveryId));
    if (part.nextCursor === null) break;
    cursor = `&cursor=${part.nextCursor}`;
  }
  assert.deepEqual(
    seen,
    all.data.map(({ deliveryId }) => deliveryId),
  );

  await site.db.query(sql`alter table webhook_attempts rename to webhook_attempts_away`);
  try {
    await page.reload();
    await page.getByRole("alert").getByText("Request id", { exact: true }).waitFor();
  } finally {
    await site.db.query(sql`alter table webhook_attempts_away rename to webhook_attempts`);
  }
  await tryAgain(page, rows(page).first());
});

test("the secret is audited when revealed and hides itself; a repeated Rotate is done once, both secrets verify, a second one within the overlap needs confirming, and dropping leaves the new one", async () => {
  const shop = await site.account({ name: "Rotating" });
  const owner = await site.person("Careful Owner", [[shop, "developer"]]);
  const shopKey = await site.key(shop);
  await using target = await startReceiver();
  const options = { hasClock: true, isLast: true, statuses: [0] };
  await using tab = await site.signedIn(owner, "/webhooks?tab=secret", options);
  const { page } = tab;
  await page.getByText("whsec_••••••••").waitFor();

  const first = await reveal(tab);
  await page.clock.fastForward(31_000);
  await page.getByText("whsec_••••••••").waitFor();
  assert.ok(!(await page.content()).includes(first));
  await page.getByRole("button", { name: "Rotate…" }).click();
  await dialog(page).getByLabel("Hours").fill("");
  await dialog(page).getByRole("button", { name: "Rotate", exact: true }).click();
  await dialog(page).getByText("Enter 1 to 72 hours.").waitFor();
  await tab.check("rotate");
  await dialog(page).getByLabel("Hours").fill("24");
  await page.route("**/rotate", async (route) => {
    await route.fetch();
    await route.abort("internetdisconnected");
  });
  await dialog(page).getByRole("button", { name: "Rotate", exact: true }).click();
  await dialog(page).getByText("your change may or may not have been made").waitFor();
  await page.unroute("**/rotate");
  await dialog(page).getByRole("button", { name: "Rotate", exact: true }).click();
  await dialog(page).waitFor({ state: "detached" });
  await page.getByText(/The old secret also signs for (?:1 d|23 h)/).waitFor();
  const second = await reveal(tab);
  await tab.check("rotated");
  await send(target.url, shopKey);
  const [both] = await target.arrived(2);
  await page.getByRole("button", { name: "Rotate…" }).click();
  await dialog(page).getByRole("button", { name: "Rotate", exact: true }).click();
  await dialog(page).getByText("Confirm this, or wait until it has ended.").waitFor();
  await tab.check("rotate within the overlap");
  await dialog(page)
    .getByLabel(/^Drop the older secret now/)
    .check();
  await dialog(page).getByRole("button", { name: "Rotate", exact: true }).click();
  await dialog(page).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Rotate…" }).click();
  await dialog(page)
    .getByLabel(/drop it now/)
    .check();
  await dialog(page).getByRole("button", { name: "Rotate", exact: true }).click();
  await page.getByText(/The old secret also signs/).waitFor({ state: "detached" });
  const third = await reveal(tab);
  await send(target.url, shopKey);
  const only = (await target.arrived(4))[2];

  assert.ok(both && only);
  assert.equal(both.headers["x-sms-signature"], signatureOf(both, second));
  assert.equal(both.headers["x-sms-signature-previous"], signatureOf(both, first));
  assert.equal(only.headers["x-sms-signature"], signatureOf(only, third));
  assert.equal(only.headers["x-sms-signature-previous"], undefined);
  const audited = await site.db.query<{ action: string; actor: string }>(sql`
    select action, actor from audit_log
     where account_id = ${shop.accountId} and action like 'secret.%' order by audit_id`);
  const [looked, turned] = ["secret.revealed", "secret.rotated"];
  assert.deepEqual(
    audited.map(({ action }) => action),
    [looked, turned, looked, looked, turned, turned, looked],
  );
  assert.equal(audited[0]?.actor, `user:${owner.userId}`);
});
