import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { sql } from "#platform";
import { startApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { sendUnanswered } from "../support/lost-answer.ts";
import { copyAndClose } from "../support/shown-once.ts";
import { siteOfFile } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";

const run = promisify(execFile);

const { site, account, ada } = await siteOfFile({ isOperator: true });

/** The only answer that may contain a key. */
const CREATION = /^POST \/console\/accounts\/[^/]+\/keys$/;
const FORM = /^sms_[0-9A-Za-z]{36}$/;

const dialog = (page: Page) => page.getByRole("dialog");
const shownKey = (page: Page) => page.getByTestId("shown-key");
const gate = (page: Page) => page.getByRole("dialog", { name: "Close without copying?" });

type KeyOptions = { name: string; scopes?: ("messages:send" | "messages:read")[] };

/** Creates a key by the form; returns the key that the page shows. */
async function create(
  { page }: Tab,
  { name, scopes = ["messages:send"] }: KeyOptions,
): Promise<string> {
  await page.getByRole("button", { name: "Create key" }).first().click();
  await dialog(page).getByLabel("Name").fill(name);
  for (const scope of ["messages:send", "messages:read"] as const) {
    await dialog(page).getByLabel(scope).setChecked(scopes.includes(scope));
  }
  await dialog(page).getByRole("button", { name: "Create key" }).click();
  const key = (await shownKey(page).textContent()) ?? "";
  site.secrets.set(key, CREATION);
  return key;
}

async function revoke({ page }: Tab, name: string): Promise<void> {
  await page.getByRole("button", { name: `Revoke ${name}` }).click();
  await dialog(page).getByLabel(`Type ${name} to confirm`).fill(name);
  await dialog(page).getByRole("button", { name: "Revoke key" }).click();
  await dialog(page).waitFor({ state: "detached" });
}

const clipboard = (page: Page) => page.evaluate<string>("navigator.clipboard.readText()");

async function ask(key: string, init: RequestInit = {}) {
  const answer = await fetch(`${site.url}/v1/messages`, {
    ...init,
    headers: { "x-api-key": key, "content-type": "application/json" },
  });
  const body = (await answer.json()) as { error?: { code: string } };
  return { status: answer.status, code: body.error?.code };
}

const MESSAGE = { recipient: "4915112345678", text: "Hello" };
const send = (key: string) => ask(key, { method: "POST", body: JSON.stringify(MESSAGE) });

test("a key is created, shown once and copied; afterwards only its mask appears anywhere", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;

  await page.getByText("Create your first key").waitFor();
  await tab.check("empty");
  const key = await create(tab, { name: "Web shop" });

  assert.match(key, FORM);
  await tab.check("key");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Copy key");
  await copyAndClose(tab, "Copy key");
  assert.equal(await clipboard(page), key);
  const mask = `${key.slice(0, 8)}••••••••`;
  await page.getByRole("cell", { name: mask }).waitFor();
  await tab.check("list");
  assert.ok(!(await page.content()).includes(key), "the page");
  const kept = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])";
  assert.ok(!(await page.evaluate<string>(kept)).includes(key), "storage and address");
  assert.ok(!site.service.output().includes(key), "the log");
  assert.deepEqual(await tablesThatHold(key), []);
  assert.equal(await isInMemory(page, key), false, "the page's memory");

  await page.reload();
  await page.getByRole("cell", { name: mask }).waitFor();
  const grace = await site.person("Grace Hopper", [[account, "developer"]]);
  await using other = await site.signedIn(grace, "/keys");
  await other.page.getByRole("cell", { name: mask }).waitFor();
});

async function tablesThatHold(secret: string): Promise<string[]> {
  const tables = await site.db.query<{ name: string }>(sql`
    select quote_ident(table_schema) || '.' || quote_ident(table_name) as name
      from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`);
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await site.db.query<{ row: string }>({
      text: `select t::text as row from ${name} t where t::text like $1`,
      values: [`%${secret}%`],
    } as never);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

/** Searches every string that the page's engine still holds. */
async function isInMemory(page: Page, secret: string): Promise<boolean> {
  const session = await page.context().newCDPSession(page);
  let snapshot = "";
  session.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => (snapshot += chunk));
  await page.evaluate("navigator.clipboard.writeText('')");
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await session.detach();
  return snapshot.includes(secret);
}

test("Esc, ×, a click outside and Done ask first until the key is copied, also while it is created; a download counts, hiding hides, and leaving the page is guarded", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  const key = await create(tab, { name: "Gate" });

  const ways = [
    () => page.keyboard.press("Escape"),
    () => dialog(page).getByRole("button", { name: "Close" }).click(),
    () => page.mouse.click(5, 400),
    () => dialog(page).getByRole("button", { name: "Done" }).click(),
    () => page.goBack(),
  ];
  for (const close of ways) {
    await close();
    await gate(page).waitFor();
    await tab.focusIs("Go back");
    await page.keyboard.press("Escape");
    await isBackIn(page);
    assert.equal(await shownKey(page).textContent(), key);
  }
  await page.keyboard.press("Escape");
  await tab.focusIs("Go back");
  await tab.check("gate");
  await gate(page).getByRole("button", { name: "Close without copying" }).click();
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await shownKey(page).count(), 0);
  await closesWhileMade(tab);
  await savesByDownload(tab);
});

/** Only once the gate is gone does the dialog below receive keys and clicks again. */
async function isBackIn(page: Page): Promise<void> {
  await gate(page).waitFor({ state: "detached" });
  await page.locator("[role=dialog]:focus-within").waitFor();
}

/** Closing the dialog meanwhile asks first, and then still shows the key. */
async function closesWhileMade(tab: Tab): Promise<void> {
  const { page } = tab;
  const answer = Promise.withResolvers<void>();
  await page.route("**/keys", async (route) => {
    if (route.request().method() === "POST") await answer.promise;
    await route.continue();
  });

  const creating = create(tab, { name: "Slow" });
  await dialog(page).locator("button[data-loading]").waitFor();
  await page.keyboard.press("Escape");
  await gate(page).getByRole("button", { name: "Go back" }).click();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await gate(page).waitFor();
  answer.resolve();
  const key = await creating;
  await gate(page).getByRole("button", { name: "Go back" }).click();
  await isBackIn(page);
  assert.equal(await shownKey(page).textContent(), key);
  await page.keyboard.press("Escape");
  await gate(page).getByRole("button", { name: "Close without copying" }).click();
  await dialog(page).waitFor({ state: "detached" });
  await page.unroute("**/keys");
}

test("creating a key after the session has ended leads to sign-in and back to the form as it was", async () => {
  await using tab = await site.signedIn(ada, "/keys", { statuses: [401, 404] });
  const { page } = tab;
  await page.getByRole("button", { name: "Create key" }).first().click();
  await dialog(page).getByLabel("Name").fill("Stale");
  await dialog(page).getByLabel("messages:send").uncheck();
  await dialog(page).getByLabel("messages:read").check();
  await dialog(page).getByText("30 days").click();
  await tab.context.clearCookies();

  await dialog(page).getByRole("button", { name: "Create key" }).click();
  await page.waitForURL(/\/sign-in/);
  await page.getByLabel("E-mail").fill(ada.email);
  await page.getByLabel("Password", { exact: true }).fill(ada.password);
  await page.keyboard.press("Enter");

  await dialog(page).getByText("This key may read messages. It cannot send them.").waitFor();
  assert.equal(await dialog(page).getByLabel("Name").inputValue(), "Stale");
  assert.ok(await dialog(page).getByLabel("30 days").isChecked());
});

test("a key form resubmitted because its answer was lost creates no second key", async () => {
  const shop = await site.account({ name: "Lossy" });
  const owner = await site.person("Patient Owner", [[shop, "owner"]]);
  await using tab = await site.signedIn(owner, "/keys", { statuses: [0, 409] });
  const { page } = tab;
  await page.getByRole("button", { name: "Create key" }).first().click();
  await dialog(page).getByLabel("Name").fill("Once");
  const submit = dialog(page).getByRole("button", { name: "Create key" });
  await sendUnanswered(page, submit, "**/keys");

  await submit.click();
  await dialog(page).getByText("This form has already created its key").waitFor();

  const names = await site.db.query(sql`
    select name from keys where account_id = ${shop.accountId}`);
  assert.deepEqual(names, [{ name: "Once" }]);
});

test("a key on display stays after the session has ended; closing it leads to sign-in", async () => {
  await using tab = await site.signedIn(ada, "/keys", { statuses: [401, 404] });
  const { page } = tab;
  const key = await create(tab, { name: "Kept" });
  let isRefused = false;
  page.on("response", (response) => void (isRefused ||= response.status() === 401));
  await tab.context.clearCookies();

  await eventually("the page learns that nobody is signed in", async () => {
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    return isRefused;
  });
  await page.getByRole("button", { name: "Copy key" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await shownKey(page).textContent(), key, "also once it is copied");
  await page.keyboard.press("Escape");

  await page.waitForURL(/\/sign-in/);
});

async function savesByDownload(tab: Tab): Promise<void> {
  const { page } = tab;
  const key = await create(tab, { name: "Download" });

  await dialog(page).getByRole("button", { name: "Hide for screen sharing" }).click();
  assert.ok(!(await dialog(page).innerText()).includes(key));
  const asking = page.waitForEvent("dialog");
  await page.evaluate("void setTimeout(() => location.reload())");
  const asked = await asking;
  assert.equal(asked.type(), "beforeunload", "the browser asks before leaving");
  await asked.dismiss();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog(page).getByRole("button", { name: "Download .env" }).click(),
  ]);

  const content = await streamText(await download.createReadStream());
  assert.equal(content, `POSTHORN_API_KEY=${key}\n`);
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
}

async function streamText(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

test("a form without name or scope, or with 61 characters, is refused at its field and reset on closing; a key does what its scopes allow, until it expires", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  await page.getByRole("button", { name: "Create key" }).first().click();
  await dialog(page).waitFor();
  await tab.check("form");

  await dialog(page).getByLabel("messages:send").uncheck();
  await dialog(page).getByRole("button", { name: "Create key" }).click();

  await dialog(page).getByText("Enter a name").waitFor();
  await dialog(page).getByText("Choose at least one.").waitFor();
  await dialog(page).getByLabel("Name").and(page.locator(":focus")).waitFor();
  await tab.check("invalid");
  await dialog(page).getByLabel("Name").fill("x".repeat(61));
  await dialog(page).getByRole("button", { name: "Create key" }).click();
  await dialog(page).getByText("At most 60 characters.").waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create key" }).first().click();
  assert.equal(await dialog(page).getByLabel("Name").inputValue(), "");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await dialog(page).waitFor({ state: "detached" });

  const sender = await create(tab, { name: "Only sends" });
  await copyAndClose(tab, "Copy key");
  const reader = await create(tab, { name: "Only reads", scopes: ["messages:read"] });
  await copyAndClose(tab, "Copy key");
  assert.deepEqual(await ask(sender), { status: 403, code: "API_KEY_SCOPE_DENIED" });
  assert.deepEqual(await send(reader), { status: 403, code: "API_KEY_SCOPE_DENIED" });
  assert.equal((await send(sender)).status, 202);
  assert.equal((await ask(reader)).status, 200);
  await site.db.query(sql`
    update keys set expires_at = now() - interval '1 second' where name = 'Only sends'`);
  assert.deepEqual(await send(sender), { status: 401, code: "API_KEY_EXPIRED" });
  await page.reload();
  await page
    .getByRole("row")
    .filter({ hasText: "Only sends" })
    .getByText(/^Expired just now/)
    .waitFor();
});

test("the 51st active key is refused, naming the limit", async () => {
  const crowded = await site.account({ name: "Crowded" });
  const owner = await site.person("Crowd Owner", [[crowded, "owner"]]);
  for (let made = 0; made < 50; made += 1) await site.key(crowded, { name: `Key ${made}` });
  await using tab = await site.signedIn(owner, "/keys", { statuses: [409] });

  await tab.page.getByText("50 of 50 active").waitFor();
  await tab.page.getByRole("button", { name: "Create key" }).first().click();
  await dialog(tab.page).getByLabel("Name").fill("One more");
  await dialog(tab.page).getByRole("button", { name: "Create key" }).click();

  await dialog(tab.page)
    .getByText("The account already has 50 active keys, which is the limit.")
    .waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByRole("button", { name: "Older" }).click();
  await tab.page.getByRole("cell", { name: "Key 0", exact: true }).waitFor();
});

test("the copied cURL runs in a shell and answers 202, and last used appears without a reload", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  await create(tab, { name: "Shell" });

  await dialog(page).getByRole("button", { name: "Copy cURL" }).click();
  const curl = await clipboard(page);
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  const row = page.getByRole("row").filter({ hasText: "Shell" });
  await row.getByText("Never").waitFor();
  const { stdout } = await run("sh", ["-c", `${curl} -s -o /dev/null -w '%{http_code}'`]);

  assert.equal(stdout, "202");
  // The service does this every half minute.
  await site.db.query(sql`
    insert into key_usage (key_id, last_used_at) select key_id, now() from keys where name = 'Shell'
        on conflict (key_id) do nothing`);
  await row.getByText("Never").waitFor({ state: "detached" });
});

test("a revoked key is refused from the next request on every node, and other tabs show it", async () => {
  await using node = await startApi({ db: site.db });
  const shop = await site.account({ name: "Shop" });
  const owner = await site.person("Shop Owner", [[shop, "owner"]]);
  await using tab = await site.signedIn(owner, "/keys");
  await using other = await site.signedIn(owner, "/keys");
  const key = await create(tab, { name: "Doomed" });
  await copyAndClose(tab, "Copy key");
  assert.equal((await send(key)).status, 202);
  assert.equal((await node.send(MESSAGE, { key })).statusCode, 202);
  const row = other.page.getByRole("row").filter({ hasText: "Doomed" });
  await row.getByText("Active").waitFor();

  await tab.page.getByRole("button", { name: "Revoke Doomed" }).click();
  await dialog(tab.page).getByRole("button", { name: "Revoke key" }).click();
  await dialog(tab.page).getByText("This does not match the name of the key.").waitFor();
  await tab.check("revoke");
  await tab.page.keyboard.press("Escape");
  await revoke(tab, "Doomed");

  assert.deepEqual(await send(key), { status: 401, code: "API_KEY_REVOKED" });
  const refused = await node.send(MESSAGE, { key });
  assert.equal(refused.statusCode, 401);
  assert.equal(refused.json().error.code, "API_KEY_REVOKED");
  await tab.page.getByText("Doomed is revoked").waitFor();
  await tab.check("toast");
  await row.getByText("Revoked just now").waitFor();
  const entries = await site.db.query<{ action: string; actor: string; details: object }>(sql`
    select action, actor, details from audit_log
     where object_id = (select key_id::text from keys where name = 'Doomed' and account_id = ${shop.accountId}) order by at`);
  assert.deepEqual(
    entries.map(({ action, actor }) => [action, actor]),
    [
      ["key.created", `user:${owner.userId}`],
      ["key.revoked", `user:${owner.userId}`],
    ],
  );
  assert.ok(!JSON.stringify(entries).includes(key));
});

test("a late revocation answer does not close a key shown meanwhile, and replacing a key under load loses no request", async () => {
  await site.key(account, { name: "Late" });
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  const answer = Promise.withResolvers<void>();
  await page.route("**/revoke", async (route) => {
    await answer.promise;
    await route.continue();
  });

  await page.getByRole("button", { name: "Revoke Late" }).click();
  await dialog(page).getByLabel("Type Late to confirm").fill("Late");
  await dialog(page).getByRole("button", { name: "Revoke key" }).click();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  const key = await create(tab, { name: "Meanwhile" });
  answer.resolve();
  await page.getByText("Late is revoked").waitFor();

  assert.equal(await shownKey(page).textContent(), key);
  await copyAndClose(tab, "Copy key");
  await page.unroute("**/revoke");
  await replacesUnderTraffic(tab);
});

async function replacesUnderTraffic(tab: Tab): Promise<void> {
  let key = await create(tab, { name: "Steady", scopes: ["messages:send", "messages:read"] });
  await copyAndClose(tab, "Copy key");
  const statuses: Promise<number>[] = [];
  // Reads change nothing, so the page is not redrawn ten times a second.
  const traffic = setInterval(() => statuses.push(ask(key).then(({ status }) => status)), 100);
  try {
    await tab.page.getByRole("button", { name: "Replace Steady" }).click();
    await dialog(tab.page).getByText("Both keys work until you revoke").waitFor();
    assert.ok(await dialog(tab.page).getByLabel("messages:read").isChecked());
    await dialog(tab.page).getByLabel("Name").fill("Steady 2");
    await dialog(tab.page).getByRole("button", { name: "Create key" }).click();
    const replacement = (await shownKey(tab.page).textContent()) ?? "";
    site.secrets.set(replacement, CREATION);
    key = replacement;
    await copyAndClose(tab, "Copy key");
    await Promise.all(statuses);
    await tab.page.getByRole("button", { name: "Revoke Steady", exact: true }).click();
    await dialog(tab.page).getByLabel("Type Steady to confirm").fill("Steady");
    await dialog(tab.page).getByRole("button", { name: "Revoke key" }).click();
    await dialog(tab.page).waitFor({ state: "detached" });
  } finally {
    clearInterval(traffic);
  }

  assert.deepEqual(new Set(await Promise.all(statuses)), new Set([200]));
}

test("the state filter is kept in the address, and a state without keys says so; a key replacing the last one of a full page is shown until saved", async () => {
  const full = await site.account({ name: "Full" });
  const owner = await site.person("Full Owner", [[full, "owner"]]);
  for (let made = 0; made < 25; made += 1) await site.key(full, { name: `Key ${made}` });
  await using tab = await site.signedIn(owner, "/keys?state=nonsense&foo=bar");
  const { page } = tab;
  const last = page.getByRole("cell", { name: "Key 0", exact: true });
  await last.waitFor();
  assert.equal(page.url(), `${site.url}/keys`);
  await page.getByLabel("State").selectOption("Revoked");
  await page.getByText("No revoked keys").waitFor();
  assert.equal(page.url(), `${site.url}/keys?state=revoked`);
  await page.goBack();
  await last.waitFor();

  await page.getByRole("button", { name: "Replace Key 0", exact: true }).click();
  await dialog(page).getByLabel("Name").fill("Newest");
  await dialog(page).getByRole("button", { name: "Create key" }).click();

  await page.locator("td", { hasText: "Newest" }).waitFor();
  assert.equal(await page.locator("td", { hasText: /^Key 0$/ }).count(), 0, "the old row");
  const key = (await shownKey(page).textContent()) ?? "";
  site.secrets.set(key, CREATION);
  assert.match(key, FORM);
  await copyAndClose(tab, "Copy key");
});

test("a key's name is shown in full, however long, and is typed as shown to revoke it", async () => {
  const shop = await site.account({ name: "Shop" });
  const sam = await site.person("Sam Shop", [[shop, "owner"]]);
  const name = "Password reset codes for customers of the portal, staging";
  await site.key(shop, { name: name.replace(" reset", "  reset") });
  await using tab = await site.signedIn(sam, "/keys");
  const isWhole = async (row: "row" | "listitem") => {
    const shown = tab.page.getByRole(row).getByText(name, { exact: true });
    const [needed, given] = await shown.evaluate((at) => [at.scrollWidth, at.clientWidth]);
    assert.equal(needed, given);
  };

  await isWhole("row");
  await tab.page.setViewportSize({ width: 375, height: 812 });
  await isWhole("listitem");

  await revoke(tab, name);
});

test("a viewer cannot create a key: every button for it says why, and the API refuses", async () => {
  const empty = await site.account({ name: "Empty" });
  const viewer = await site.person("View Only", [[empty, "viewer"]]);
  await using tab = await site.signedIn(viewer, "/", { statuses: [403] });
  const denied = tab.page.getByRole("button", { name: "Create a key", description: /developer/ });
  await denied.waitFor();
  await tab.page.getByRole("link", { name: "Messages" }).click();
  await tab.page.getByText("No messages yet").waitFor();
  await denied.waitFor();
  await tab.page.keyboard.press("n");
  const button = tab.page.getByRole("button", { name: "Create key" });

  await button.focus();
  await tab.page.getByRole("tooltip", { name: /This needs the developer role/ }).waitFor();
  await tab.page.keyboard.press("Enter");

  assert.equal(await dialog(tab.page).count(), 0);
  const status = await tab.page.evaluate<number>(`fetch(
    "/console/accounts/${empty.accountId}/keys",
    { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "No", scopes: ["messages:send"] }) },
  ).then(({ status }) => status)`);
  assert.equal(status, 403);
});

test("the whole flow works with the keyboard alone", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  await page.getByRole("heading", { name: "API keys" }).waitFor();

  await page.keyboard.press("n");
  await readyToType(page);
  await page.keyboard.type("Keyboard");
  await page.keyboard.press("Enter");
  const key = (await shownKey(page).textContent()) ?? "";
  site.secrets.set(key, CREATION);
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("button", { name: "Copied" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await page.getByRole("cell", { name: "Keyboard", exact: true }).waitFor();
  await page.keyboard.press("j");
  for (let tabs = 0; tabs < 10 && (await focusedName(page)) !== "Revoke Keyboard"; tabs += 1) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await readyToType(page);
  await page.keyboard.type("Keyboard");
  await page.keyboard.press("Enter");
  await dialog(page).waitFor({ state: "detached" });

  assert.equal((await send(key)).code, "API_KEY_REVOKED");
});

/** A dialog takes the focus a moment after it becomes visible. */
function readyToType(page: Page): Promise<void> {
  return dialog(page).locator("input:focus").waitFor();
}

/** The accessible name of the focused element. */
function focusedName(page: Page): Promise<string | null> {
  return page.evaluate("document.activeElement.getAttribute('aria-label')");
}

test("on a phone in dark mode, a key can be created and copied, and its row omits nothing", async () => {
  await using tab = await site.signedIn(ada, "/keys", { isPhone: true, isDark: true });

  const key = await create(tab, { name: "Pocket" });
  await tab.picture("key on a dark phone");
  await copyAndClose(tab, "Copy key");

  assert.equal(await clipboard(tab.page), key);
  await tab.page.getByText(`${key.slice(0, 8)}••••••••`).waitFor();
  const own = tab.page.getByRole("listitem").filter({ hasText: "Pocket" });
  await own.getByText("Does not expire").waitFor();
  await own.getByText(/^Created just now by Ada/).waitFor();
  await site.db.query(sql`
    update keys set expires_at = now() + interval '40 days', created_at = now() - interval '31 days'
     where name = 'Pocket'`);
  await tab.page.reload();
  await own.getByText(/^Expires in /).waitFor();
  await own.getByText("Unused for 30 days").waitFor();
});
