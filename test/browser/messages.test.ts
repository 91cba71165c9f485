import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import type { HistoryEntry, Message } from "#contract";
import { bookCredits } from "#credits";
import { sql, systemClock } from "#platform";
import { eventually } from "../support/eventually.ts";
import { NO_PAGE, siteOfFile } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";

const run = promisify(execFile);

const { site, account, ada } = await siteOfFile();
const key = await site.key(account, { name: "Web shop" });

function send(recipient: string, text: string, more: object = {}, by = key): Promise<Message> {
  return site.send(by, { recipient, text, ...more });
}

const rows = "main [data-row]";

/** The simulator's numbers by their endings. Sent before all else, as one takes ten seconds. */
const ENDINGS = [
  ["0001", "UNDELIVERED"],
  ["0002", "FAILED"],
  ["0003", "DELIVERED"],
  ["0004", "SENT"],
  ["0005", "DELIVERED"],
  ["0006", "DELIVERED"],
  ["0007", "FAILED"],
  ["0008", "DELIVERED"],
  ["5678", "DELIVERED"],
] as const;
const told = await site.account({ name: "Told" });
const teller = await site.person("Story Teller", [[told, "owner"]]);
const tellersKey = await site.key(told);
const stories = await Promise.all(
  ENDINGS.map(async ([digits, status]) => {
    const text = digits === "5678" ? "Three segments. ".repeat(25) : "Hello";
    const { messageId, recipient } = await send(`491511234${digits}`, text, {}, tellersKey);
    return { messageId, recipient, status };
  }),
);

test("without messages the page says what will appear; a sent one shows its story, segments, charge, and HTML only as text", async () => {
  await using tab = await site.signedIn(ada, "/messages");
  const { page } = tab;
  await page.getByText("No messages yet").waitFor();
  await tab.check("nothing yet");
  await page.getByRole("link", { name: "Compose a message" }).click();
  await page.getByRole("heading", { name: "Compose" }).waitFor();
  await page.getByLabel("Recipient").fill("+49 151 12345678");
  await page.getByLabel("Text").fill("<img src=x onerror=alert(1)> “Hi”");
  await page.getByText("Number in Germany").waitFor();
  await page.getByText("These characters are not in the GSM alphabet").waitFor();
  await tab.check("compose");
  const ground = "getComputedStyle(document.querySelector('mark')).backgroundColor";
  assert.notEqual(await page.evaluate(ground), "rgba(0, 0, 0, 0)", "they are marked");

  await page.getByRole("button", { name: "Replace with plain characters" }).click();
  await page.getByRole("button", { name: "Send for 1 credit" }).dblclick();
  await page.getByText("DELIVERED to the handset").waitFor();

  const [sent] = await site.db.query<{ count: number }>(
    sql`select count(*) as count from messages where account_id = ${account.accountId}`,
  );
  assert.equal(Number(sent?.count), 1, "a double click sends once");
  await page.getByRole("link", { name: "999 credits" }).waitFor();
  await page.getByText("Times shown in Paris time").waitFor();
  await tab.check("sent");
  await staysThroughFailures(tab);
  await page.getByRole("link", { name: "Open full page" }).click();
  await page.getByRole("heading", { name: "Message to 4915112345678" }).waitFor();
  await page.getByText('<img src=x onerror=alert(1)> "Hi"').waitFor();
  await tab.check("message");
  const time = page.locator("main time").first();
  await time.click();
  await page.getByRole("status").getByText("Copied").waitFor();
  const copied = await page.evaluate("navigator.clipboard.readText()");
  assert.equal(copied, await time.getAttribute("datetime"));
  await page.getByText("JSON", { exact: true }).click();
  await page.waitForURL(/\?tab=json$/);
  await page.reload();
  await page.locator("[data-json]").waitFor();
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const v1 = await fetch(`${site.url}/v1/messages/${id}`, { headers: { "x-api-key": key } });
  assert.deepEqual(JSON.parse(await page.locator("[data-json]").innerText()), await v1.json());
});

/** A message stays on screen while requests for it fail. */
async function staysThroughFailures(tab: Tab): Promise<void> {
  const { page } = tab;
  const own = /\/messages\/[0-9a-f-]+$/;
  let refused = 0;
  tab.expect(503);
  await page.route(own, (route) => {
    refused += 1;
    return route.fulfill({ status: 503, json: { error: { code: "UNAVAILABLE" } } });
  });
  // Each attempt makes two requests: a third one means that the first attempt has failed.
  await eventually("it is asked for again", async () => {
    await look(tab, "visible");
    return refused > 2;
  });
  await page.unroute(own);
  assert.equal(await page.getByText("DELIVERED to the handset").count(), 1);
}

/** Pretends that the tab was moved to the front or to the back. */
function look({ page }: Tab, state: "visible" | "hidden"): Promise<void> {
  return page.evaluate(`
    Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))`);
}

test("leaving Compose before the answer comes does not navigate away later", async () => {
  await using tab = await site.signedIn(ada, "/compose");
  const { page } = tab;
  await page.getByLabel("Recipient").fill("4915112345679");
  await page.getByLabel("Text").fill("Late");
  const [answer, code] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/messages", async (route) => {
    if (route.request().method() === "POST") await answer.promise;
    await route.continue();
  });
  // The old page stays until the code of the new one has loaded.
  await page.route("**/assets/messages-*.js", async (route) => {
    await code.promise;
    await route.continue();
  });

  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await page.getByRole("link", { name: "Messages" }).first().click();
  await page.waitForURL("**/messages");
  const answered = page.waitForResponse((response) => response.status() === 202);
  answer.resolve();
  await answered;
  code.resolve();

  await page.locator(rows, { hasText: "4915112345679" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/messages");
});

test("Compose opens whatever its draft in this tab has become", async () => {
  await using tab = await site.signedIn(ada, "/compose");
  const { page } = tab;
  await page.getByLabel("Text").fill("Kept");
  await page.evaluate(`
    const [name] = Object.keys(sessionStorage).filter((each) => each.startsWith("posthorn-draft:"));
    sessionStorage.setItem(name, '{"recipient":["4915112345679"],"text":"Kept","sendAt":null,"metadata":"x"}')`);

  await page.reload();
  await page.getByLabel("Recipient").fill("4915112345679");
  await page.getByRole("button", { name: "Send for 1 credit" }).click();

  await page.getByText("DELIVERED to the handset").waitFor();
});

test("what is typed in Compose while a message is being sent is not lost", async () => {
  await using tab = await site.signedIn(ada, "/compose");
  const { page } = tab;
  await page.getByLabel("Recipient").fill("4915112345676");
  await page.getByLabel("Text").fill("First");
  const answer = Promise.withResolvers<void>();
  await page.route("**/messages", async (route) => {
    await answer.promise;
    await route.continue();
  });
  const asked = page.waitForRequest("**/messages");

  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await asked;
  await page.getByLabel("Text").fill("First, and a second");
  answer.resolve();
  await page.getByText("DELIVERED to the handset").waitFor();
  await page.getByRole("link", { name: "Write another" }).click();

  await page.getByLabel("Text").waitFor();
  assert.equal(await page.getByLabel("Text").inputValue(), "First, and a second");
});

test("text typed into a filter just before the page is left does not lead back to it", async () => {
  await send("4915112345678", "Hello");
  await using tab = await site.signedIn(ada, "/messages");
  const { page } = tab;
  const code = Promise.withResolvers<void>();
  await page.route("**/assets/credits-*.js", async (route) => {
    await code.promise;
    await route.continue();
  });

  await page.locator(rows).first().waitFor();
  await page.getByLabel("Search").pressSequentially("order-7");
  await page.getByRole("link", { name: "Credits", exact: true }).click();
  // Shown only after the moment in which typed text is applied.
  await page.getByText("Waiting for the service…").waitFor();
  code.resolve();

  await page.getByRole("heading", { name: "Credits", level: 1 }).waitFor();
});

test("the counter matches the preview, the copied cURL sends the exact text, and 11 segments, a wrong address or half a date are reported before sending", async () => {
  const text = `"It's" a \\ $HOME \`id\` 👋\nand !more`;
  await using tab = await site.signedIn(ada, "/compose", { statuses: [422] });
  const { page } = tab;
  const counter = (name: string) => page.locator(`[data-counter=${name}]`);
  await page.getByRole("button", { name: "4915112340001" }).click();
  assert.equal(await page.locator(":focus").inputValue(), "4915112340001");
  assert.equal(await counter("credits").innerText(), "–", "nothing is asked for yet");
  await page.getByLabel("Recipient").fill("4915112345678");
  await page.getByLabel("Text").fill(text);
  await page.getByRole("button", { name: "Copy cURL" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();

  const curl = await page.evaluate<string>("navigator.clipboard.readText()");
  const env = { ...process.env, POSTHORN_API_KEY: key };
  const { stdout } = await run("sh", ["-c", `${curl} -s -w '\n%{http_code}'`], { env });
  const [body = "", status] = stdout.split("\n");
  assert.equal(status, "202");
  assert.equal((JSON.parse(body) as Message).text, text);

  const cases: [text: string, encoding: string, segments: string][] = [
    ["a".repeat(160), "GSM-7", "1"],
    ["a".repeat(161), "GSM-7", "2"],
    ["€".repeat(80), "GSM-7", "1"],
    ["^{}".repeat(27), "GSM-7", "2"],
    ["я".repeat(70), "UCS-2", "1"],
    ["я".repeat(71), "UCS-2", "2"],
    [`${"a".repeat(66)}👋${"b".repeat(10)}`, "UCS-2", "2"],
  ];
  for (const [text, encoding, segments] of cases) {
    await page.getByLabel("Text").fill(text);
    await page.getByRole("button", { name: `Send for ${segments} credit` }).waitFor();
    assert.equal(await counter("encoding").innerText(), encoding);
    assert.equal(await counter("segments").innerText(), segments);
    assert.equal(await counter("credits").innerText(), segments);
  }
  await page.getByLabel("Text").fill("a".repeat(1_531));
  await page.getByText("This takes 11 segments; the limit is 10.").waitFor();
  assert.equal(await counter("credits").innerText(), "–");
  await page.getByRole("button", { name: "Send message" }).click();
  await page.getByLabel("Text").fill("Later");
  const more = page.getByRole("button", { name: "More options" });
  const callback = page.getByLabel("Callback address");
  await more.click();
  await callback.fill("ftp://example.com");
  await more.click();
  await page.getByText("–", { exact: true }).first().waitFor();
  await callback.and(page.locator("[aria-invalid=true]")).waitFor();
  await more.click();
  await callback.fill("");
  await page.getByLabel("Send later").press("1");
  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await page.getByText("Enter a full date and time, or clear the field.").waitFor();

  assert.ok(!tab.requests.some((each) => /^POST .*\/messages$/.test(each)));
});

test("a wrong number is reported once its field is left, even before there is a text, and shifts nothing beside it", async () => {
  await using tab = await site.signedIn(ada, "/compose", { statuses: [422] });
  const { page } = tab;
  const wrong = page.getByLabel("Recipient").and(page.locator("[aria-invalid=true]"));
  const endings = page.getByRole("region", { name: "Simulator test numbers" });
  await endings.waitFor();
  const refused = page.waitForResponse((response) => response.status() === 422);
  await page.getByLabel("Recipient").fill("49151");
  await refused;
  assert.equal(await wrong.count(), 0, "it may still be written");

  await page.keyboard.press("Tab");

  await wrong.waitFor();
  assert.ok(await endings.isVisible());
});

test("changing a text whose answer was lost says that it was sent, and the new text can be sent too", async () => {
  await using tab = await site.signedIn(ada, "/compose", { statuses: [0, 409] });
  const { page } = tab;
  const texts = () =>
    site.db.query(sql`
      select text from messages where account_id = ${account.accountId} and recipient = '4915112345677' order by message_id`);
  await page.getByLabel("Recipient").fill("4915112345677");
  await page.getByLabel("Text").fill("First");
  await page.route("**/messages", async (route) => {
    await route.fetch();
    await route.abort("internetdisconnected");
  });
  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await page.getByText("your change may or may not have been made").waitFor();
  await page.unroute("**/messages");

  await page.getByLabel("Text").fill("Second");
  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await page.getByText("The message as it was before your change was sent").waitFor();
  assert.deepEqual(await texts(), [{ text: "First" }]);
  await tab.check("sent before");
  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await tab.focusIs("Write another");

  assert.deepEqual(await texts(), [{ text: "First" }, { text: "Second" }]);
});

test("a message that costs too much shows price and balance, kept up to date, and no wait; without a price the page says why", async () => {
  const poor = await site.account({ name: "Poor", credits: 1 });
  const owner = await site.person("Poor Owner", [[poor, "owner"]]);
  await using tab = await site.signedIn(owner, "/compose", { statuses: [402, 503] });

  await tab.page.getByLabel("Recipient").fill("4915112345678");
  await tab.page.getByLabel("Text").fill("a".repeat(161));
  await tab.page.getByText("Not enough: 1 available").waitFor();
  await tab.page.getByRole("button", { name: "Send for 2 credits" }).click();

  await tab.page.getByText("This costs 2 credits, but the account has 1 credit.").waitFor();
  await tab.check("refused");
  await tab.page.getByLabel("Text").fill("b".repeat(161));
  assert.equal(await tab.page.getByText(/^Wait \d/).count(), 0);

  const { accountId } = poor;
  const topup = { kind: "topup", amount: 9, note: "More", actor: "cli" } as const;
  await bookCredits(site.db, { accountId, ...topup, now: systemClock.now() });
  await tab.page.locator("[data-counter=balance]").getByText("8", { exact: true }).waitFor();
  await tab.page.route("**/messages/preview", (route) =>
    route.fulfill({ status: 503, json: { error: { code: "INTERNAL", requestId: "r1" } } }),
  );
  await tab.page.getByLabel("Text").fill("Hello");
  const counter = tab.page.getByRole("region", { name: "Length and cost" });
  await counter.getByText("Something failed inside Posthorn").waitFor();
  await tab.check("no price");
  await tab.page.unroute("**/messages/preview");
  await counter.getByRole("button", { name: "Try again" }).click();
  await tab.page.getByRole("button", { name: "Send for 1 credit" }).waitFor();
});

test("filters are kept in the address and work with Back, invalid ones are removed, and clearing includes what is being typed; a refunded message costs nothing", async () => {
  await send("4915112340002", "Refused", { reference: "order-7" });
  await send("4915112340001", "Undelivered");
  await using tab = await site.signedIn(ada, "/messages?status=foo&bar=1");
  const { page } = tab;
  await page.locator(rows).nth(2).waitFor();
  assert.equal(page.url(), `${site.url}/messages`);
  await page.getByText("Up to 100,000 rows").waitFor();
  await tab.check("list");

  await page.getByText("FAILED", { exact: true }).first().click();
  await page.getByText("Status: FAILED").waitFor();
  await page.locator(rows).nth(1).waitFor({ state: "detached" });
  assert.equal(page.url(), `${site.url}/messages?status=FAILED`);
  const refused = page.locator(rows).first();
  await refused.getByRole("cell", { name: "0 1 refunded" }).waitFor();
  await tab.check("filtered");
  await page.setViewportSize({ width: 375, height: 812 });
  await page.getByRole("button", { name: "Filters (1)" }).waitFor();
  const first = await page.locator(rows).first().boundingBox();
  assert.ok(first && first.y < 812 / 2, "on a phone more than half of the screen is the list's");
  await page.setViewportSize({ width: 1280, height: 800 });
  // On a phone the field is a different element.
  await page.getByRole("button", { name: "Filters (1)" }).waitFor({ state: "detached" });
  await page.getByRole("searchbox", { name: "Search" }).fill("no-such-order");
  await page.getByText("No messages match").waitFor();
  await tab.check("no match");
  await page.getByLabel("Key", { exact: true }).selectOption("console");
  await page.getByText("Nothing matches FAILED, Dashboard, no key, no-such-order.").waitFor();
  await page.goBack();
  await page.goBack();
  await page.locator(rows).nth(2).waitFor();

  tab.expect(400);
  await tab.go("/messages?cursor=damaged");
  await page.waitForURL(`${site.url}/messages`);
  await page.locator(rows).nth(2).waitFor();

  const always = "from=2026-01-01T00:00:00.000Z&to=2099-01-01T00:00:00.000Z";
  await tab.go(`/messages?reference=order-7&${always}`);
  await page.locator(rows).nth(1).waitFor({ state: "detached" });
  assert.equal(await page.locator(rows).count(), 1);
  await page.getByText("Range: 1 Jan 2026, 01:00 to 1 Jan 2099, 01:00").waitFor();
  await page.getByLabel("Sender").fill("Nobody");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.locator(rows).nth(2).waitFor();
  assert.equal(await page.getByLabel("Sender").inputValue(), "", "nor does it come back");
  await page.getByRole("button", { name: "Apply" }).waitFor({ state: "detached" });
  // The button is gone, but the focus is kept.
  await page.locator("#main:focus").waitFor();
  assert.equal(await page.getByLabel("Range", { exact: true }).inputValue(), "");
  // Like a link to the messages of a key that is older than all listed ones.
  const old = "0197a000-0000-7000-8000-000000000000";
  await tab.go(`/messages?key=${old}`);
  await page.getByText("No messages match").waitFor();
  assert.equal(await page.getByLabel("Key", { exact: true }).inputValue(), old);
});

test("how many rows match a filter is said to those who do not see them change", async () => {
  await send("4915112345678", "One", { reference: "said-1" });
  await using tab = await site.signedIn(ada, "/messages");
  const { page } = tab;
  const said = page.locator("#main [aria-live=polite]");
  await page.locator(rows).first().waitFor();
  assert.equal(await said.textContent(), "", "what is read with the page is not said twice");

  for (const [reference, count] of [
    ["said-1", "1 row"],
    ["said-2", "0 rows"],
  ] as const) {
    await page.getByRole("searchbox", { name: "Search" }).fill(reference);
    await said.getByText(count, { exact: true }).waitFor({ state: "attached" });
  }
});

test("search finds a number in any format, and a reference that looks like one; a row opens by keyboard beside the list, and Esc returns the focus to it", async () => {
  await send("4915112345678", "By reference", { reference: "2026-1116-001" });
  await send("4915187654321", "By number");
  await using tab = await site.signedIn(ada, "/messages");
  const { page } = tab;
  const search = page.getByRole("searchbox", { name: "Search" });

  await search.fill("+49 (151) 876-54321");
  await page.locator(rows).nth(1).waitFor({ state: "detached" });
  await page.getByRole("cell", { name: "By number" }).waitFor();
  await search.fill("2026-1116-001");
  await page.getByRole("link", { name: "Search references for 2026-1116-001" }).click();
  await page.getByRole("cell", { name: "By reference" }).waitFor();

  await page.locator(rows).nth(1).waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).search, "?reference=2026-1116-001");

  await page.getByRole("heading", { name: "Messages", level: 1 }).click();
  await page.keyboard.press("j");
  const name = () => page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
  const opener = await name();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Timeline").waitFor();
  assert.match(page.url(), /[?&]id=/);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  assert.match(opener, /^Open message/);
  await tab.focusIs(opener);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Timeline").waitFor();
  await tab.check("drawer");
});

test("on a phone, a tap anywhere on a row opens it, and on its time copies that instead", async () => {
  await send("4915187654321", "To be touched");
  await using tab = await site.signedIn(ada, "/messages", { isPhone: true });
  const { page } = tab;
  const row = page.getByRole("listitem").filter({ hasText: "To be touched" });

  await row.getByRole("button", { name: /copy as ISO 8601$/ }).click();
  await page.getByRole("status").filter({ hasText: "Copied" }).waitFor();
  assert.equal(new URL(page.url()).search, "");
  await row.getByText("To be touched").click();

  await page.getByRole("dialog").getByText("Timeline").waitFor();
});

test("new messages show a pill and move no row; Live inserts them", async () => {
  await using tab = await site.signedIn(ada, "/messages");
  const { page } = tab;
  await page.locator(rows).first().waitFor();
  const first = await page.locator(rows).first().getAttribute("data-row");

  await send("4915112345678", "A new one");
  await page.getByRole("button", { name: "Show 1 new" }).waitFor();
  assert.equal(await page.locator(rows).first().getAttribute("data-row"), first);
  await page.keyboard.press(".");
  await page.getByRole("cell", { name: "A new one" }).waitFor();
  const second = await page.locator(rows).first().getAttribute("data-row");
  await look(tab, "hidden");
  await send("4915112345678", "While nobody looks");
  // A minute later, everything shown counts as old.
  await page.evaluate("{ const now = Date.now; Date.now = () => now() + 60_000 }");
  await look(tab, "visible");
  await page.getByRole("button", { name: "Show 1 new" }).waitFor();
  assert.equal(await page.locator(rows).first().getAttribute("data-row"), second);
  await page.getByRole("switch", { name: "Live" }).check();
  await send("4915112345678", "Another one");

  await page.getByRole("cell", { name: "Another one" }).waitFor();
  await page.locator(rows).first().getByRole("link").first().click();
  await page.getByRole("dialog").getByText("Timeline").waitFor();
  await send("4915112345678", "Under the drawer");
  await page.locator("[data-shortcut=new-rows]").waitFor({ state: "attached" });
  assert.equal(await page.locator(rows, { hasText: "Under the drawer" }).count(), 0);
  await page.keyboard.press("Escape");

  await page.getByRole("cell", { name: "Under the drawer" }).waitFor();
});

test("a filter that cannot read the keys says so", async () => {
  await send("4915112345678", "Hello");
  await using tab = await site.signedIn(ada, NO_PAGE, { statuses: [0] });
  const { page } = tab;
  await page.route(/\/keys\?/, (route) => route.abort("internetdisconnected"));

  await page.goto(`${site.url}/messages`);

  await page.getByText("No answer came. Check your connection.").waitFor();
  await page.getByLabel("Key").and(page.locator("[aria-invalid=true]")).waitFor();
});

test("a text is shown in the direction of its script, in the list and on its page", async () => {
  const { messageId } = await send("4915112345678", "שלום! ההזמנה שלך בדרך");
  await using tab = await site.signedIn(ada, "/messages");
  const { page } = tab;
  const direction = async () => {
    await page.locator("main [dir=auto]", { hasText: "שלום! ההזמנה" }).first().waitFor();
    return page.evaluate("getComputedStyle(document.querySelector('main [dir=auto]')).direction");
  };

  assert.equal(await direction(), "rtl");
  await tab.go(`/messages/${messageId}`);
  await page.getByRole("heading", { name: "Message to" }).waitFor();

  assert.equal(await direction(), "rtl");
});

test("a text piled high with accents stays in its box", async () => {
  await using tab = await site.signedIn(ada, NO_PAGE);
  const { page } = tab;
  const above = async (text: string) => {
    const { messageId } = await send("4915112345678", text);
    await tab.go(`/messages/${messageId}`);
    await page.locator("main").getByText(messageId).waitFor();
    return page.getByRole("heading", { name: "Text", exact: true }).screenshot();
  };
  await page.goto(`${site.url}/messages`);

  assert.deepEqual(await above(`a${"\u0301".repeat(200)}`), await above("a"));
});

test("a carrier's message id of any length fits a phone", async () => {
  const { messageId } = await send("4915112345678", "Hello");
  await eventually("it is delivered", async () => {
    const found = await site.db.query(sql`
      update submissions set carrier_message_id = ${"x".repeat(64)}
       where message_id = ${messageId} and carrier_message_id is not null returning 1`);
    return found.length === 1;
  });
  await using tab = await site.signedIn(ada, `/messages/${messageId}`, { isPhone: true });
  await tab.page.getByText("x".repeat(64)).waitFor();

  const width = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
  const [whole, shown] = await tab.page.evaluate<number[]>(width);
  assert.equal(whole, shown);
});

test("however many messages arrive, the rows shown are refreshed by one read, and final ones by none", async () => {
  const waiting = { sendAt: new Date(Date.now() + 3_600_000).toISOString() };
  const { messageId } = await send("4915112345678", "Waits", waiting);
  for (let n = 0; n < 6; n += 1) await send("4915112345678", `Waits ${n}`, waiting);
  await using tab = await site.signedIn(ada, "/messages?limit=25");
  const { page, requests } = tab;
  const own = page.locator(`[data-row="${messageId}"]`);
  await own.getByText("QUEUED", { exact: true }).waitFor();
  await own.getByText(/^due /).waitFor();
  await own.getByText("routed to simulator").waitFor();
  const order = () =>
    page.locator(rows).evaluateAll((all) => all.map((row) => row.getAttribute("data-row")));
  const [before, shown] = [requests.length, await order()];

  const crowd = Array.from({ length: 250 }, () => ({ recipient: "4915112345679", text: "Crowd" }));
  const [batch] = await Promise.all([
    fetch(`${site.url}/v1/messages/batch`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ messages: crowd }),
    }),
    fetch(`${site.url}/v1/messages/${messageId}/cancel`, {
      method: "POST",
      headers: { "x-api-key": key },
    }),
  ]);

  assert.equal(batch.status, 202);
  await own.getByText("FAILED", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Show 99+ new" }).waitFor();
  const single = requests.slice(before).filter((each) => /\/messages\/[\da-f-]{36}$/.test(each));
  assert.ok(single.length <= 1, `${single.length} rows were read one by one`);
  assert.deepEqual(await order(), shown, "no row moves");
});

test("a waiting message can be canceled, its refund is shown, and it can be sent again with all its fields while its text is kept", async () => {
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const more = { metadata: { note: "x".repeat(200) }, callbackUrl: "https://example.com/hooks" };
  const { messageId } = await send("4915112345678", "Later", { sendAt, ...more });
  await using tab = await site.signedIn(ada, `/compose?sent=${messageId}`);
  const dialogs = tab.page.getByRole("dialog");

  await tab.page.getByRole("button", { name: "Cancel message" }).waitFor();
  await tab.go(`/messages?id=${messageId}`);
  // The page behind also has a button of this name.
  await dialogs.getByText("Timeline").waitFor();
  await tab.page.getByRole("button", { name: "Cancel message" }).click();
  await dialogs.nth(1).waitFor();
  await tab.page.keyboard.press("Escape");
  await dialogs.nth(1).waitFor({ state: "detached" });
  await tab.page.getByRole("link", { name: "Open full page" }).click();
  await tab.page.getByRole("heading", { name: "Message to" }).waitFor();
  await tab.page.getByText(/^Due at/).waitFor();
  await tab.check("due later");
  await tab.page.getByRole("button", { name: "Cancel message" }).click();
  await dialogs.getByRole("button", { name: "Cancel message" }).click();

  await tab.page.getByText("FAILED, 1 credit refunded").waitFor();
  await tab.page.getByText("CANCELED", { exact: false }).first().waitFor();
  await tab.page.locator("#main:focus").waitFor();
  await tab.page.getByRole("link", { name: "Send again" }).click();
  await tab.page.getByText("Metadata, copied from the original").waitFor();
  await tab.check("send again");
  await tab.page.getByLabel("Text").fill("Later still");
  await tab.page.reload();
  assert.equal(await tab.page.getByLabel("Text").inputValue(), "Later still");
  await tab.page.getByRole("button", { name: "Send for 1 credit" }).click();
  await tab.page.getByRole("link", { name: "Write another" }).waitFor();
  const [again] = await site.db.query(sql`
    select metadata, callback_url from messages where account_id = ${account.accountId} and text = 'Later still'`);
  const { metadata, callbackUrl } = more;
  assert.deepEqual(again, { metadata: JSON.stringify(metadata), callback_url: callbackUrl });

  await site.db.query(sql`
    update messages set text = '[redacted]' where message_id = ${messageId}`);
  await tab.go(`/messages/${messageId}`);
  for (const name of ["Send again", "Copy as cURL"])
    await tab.page.getByRole("button", { name, description: /^The text was redacted/ }).waitFor();
  await tab.check("redacted");
});

test("every outcome of the simulator and every segment is shown as in the history, with a link to its bookings", async () => {
  await using tab = await site.signedIn(teller, "/messages");
  const { page } = tab;
  const timeline = page.getByRole("region", { name: "Timeline" });
  for (const { messageId, recipient, status } of stories) {
    const history = await eventually(`the message to ${recipient} is ${status}`, async () => {
      const entries = await historyOf(messageId);
      const last = entries.findLast((entry) => entry.type === "status");
      return last?.status === status && entries;
    });
    await tab.go(`/messages/${messageId}`);
    await page.getByRole("heading", { name: `Message to ${recipient}` }).waitFor();
    const titles = timeline.locator(".mantine-Timeline-itemTitle");
    await titles.nth(history.length - 1).waitFor();

    const shown = await titles.allInnerTexts();
    assert.equal(shown.length, history.length);
    for (const [step, title] of shown.entries()) assert.match(title, wordOf(history[step]));
  }
  for (const part of [1, 2, 3])
    await timeline.getByText(new RegExp(`^Segment ${part} of 3 handed to`)).waitFor();

  const refused = stories[1]?.messageId;
  await tab.go(`/messages/${refused}`);
  await page.getByRole("heading", { name: `Message to ${stories[1]?.recipient}` }).waitFor();
  await page.getByRole("link", { name: "View in ledger" }).last().click();
  await page.waitForURL(`**/credits?messageId=${refused}`);
  await page.locator(rows).nth(1).waitFor();
  assert.deepEqual(await page.locator(`${rows} strong`).allInnerTexts(), ["+1", "-1"]);
});

async function historyOf(messageId: string): Promise<HistoryEntry[]> {
  const answer = await fetch(`${site.url}/v1/messages/${messageId}/events`, {
    headers: { "x-api-key": tellersKey },
  });
  return ((await answer.json()) as { data: HistoryEntry[] }).data;
}

/** Matches the essential part of a step's title, however the rest is worded. */
function wordOf(entry: HistoryEntry | undefined): RegExp {
  switch (entry?.type) {
    case "status":
      return entry.status === "QUEUED" ? /^Accepted/ : new RegExp(`^${entry.status}`);
    case "submission":
      return {
        accepted: /anded to/,
        refused_temporarily: /for now/,
        refused: /for good/,
        unsent: /was not sent/,
      }[entry.outcome];
    case "receipt":
      return new RegExp(`reports ${entry.state}`);
    case "doubt":
      return /^In doubt/;
    case undefined:
      return /(?!)/;
  }
}

test("a message submitted while its cancel is being confirmed is not canceled, and the page says why", async () => {
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const { messageId } = await send("4915112340004", "Too late", { sendAt });
  await using tab = await site.signedIn(ada, `/messages/${messageId}`, { statuses: [409] });
  const { page } = tab;
  await page.getByRole("button", { name: "Cancel message" }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Cancel message" });
  await confirm.waitFor();
  await site.db.query(sql`update send_queue set due_at = now() where message_id = ${messageId}`);
  await page
    .locator("main")
    .getByText(/^SENT: /)
    .waitFor();
  await confirm.click();

  await page.getByRole("dialog").getByText("The message is SENT;").waitFor();
});

test("another account's message is not found", async () => {
  const other = await site.account({ name: "Other" });
  const otherKey = await site.key(other);
  const { messageId } = await send("4915112345678", "Private", {}, otherKey);
  await using tab = await site.signedIn(ada, `/messages/${messageId}`, { statuses: [404] });

  await tab.page.getByText("No such message").waitFor();

  await tab.check("not found");
});

test("a viewer's pages, answers and downloads have no full number and no text", async () => {
  const secret = "Top secret words";
  await send("4915198765432", secret);
  const viewer = await site.person("View Only", [[account, "viewer"]]);
  site.secrets.set(secret, /(?!)/).set("4915198765432", /(?!)/);
  try {
    await using tab = await site.signedIn(viewer, "/messages");
    await tab.page.getByRole("cell", { name: "•••••••••5432", exact: true }).waitFor();
    await tab.page.getByRole("searchbox", { name: "Search" }).fill("4915112345678");
    await tab.page.getByText("Reference: 4915112345678").waitFor();
    await tab.page.getByText("No messages match").waitFor();
    const csv = await tab.page.evaluate<string>(
      `fetch("/console/accounts/${account.accountId}/messages.csv").then((answer) => answer.text())`,
    );

    await tab.page.getByRole("link", { name: "Compose", exact: true }).click();
    await tab.page.getByText("This needs the developer role; yours is viewer.").waitFor();
    assert.equal(await tab.page.getByLabel("Recipient").count(), 0);
    await tab.page.getByLabel("Text").fill("Hello");
    await tab.page.getByText("Only people who can send see the price.").waitFor();
    await tab.check("compose as a viewer");

    assert.ok(!(await tab.page.content()).includes(secret));
    assert.ok(!csv.includes(secret) && !csv.includes("4915198765432"));
  } finally {
    site.secrets.delete(secret);
    site.secrets.delete("4915198765432");
  }
});

test("a list of the last minutes left open is updated on return, and so is its download", async () => {
  const options = { hasClock: true, isLast: true };
  await using tab = await site.signedIn(ada, "/messages?range=15m", options);
  const { page } = tab;
  await page.locator(rows).first().waitFor();

  await look(tab, "hidden");
  await page.clock.fastForward("12:00:00");
  const now = await page.evaluate<number>("Date.now()");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download CSV" }).click(),
  ]);
  await look(tab, "visible");

  await page.getByText("No messages match").waitFor();
  const from = Date.parse(new URL(download.url()).searchParams.get("createdAfter") ?? "");
  assert.ok(now - from < 16 * 60_000, `the file begins at ${new Date(from).toISOString()}`);
});

test("a rate-limited user is told how long to wait, and cannot retry before", async () => {
  const options = { statuses: [429], hasClock: true, isLast: true };
  await using tab = await site.signedIn(ada, "/keys", options);
  const { page } = tab;
  const problem = { error: { code: "RATE_LIMITED", message: "Wait for Retry-After seconds." } };
  const answer = { status: 429, headers: { "retry-after": "60" }, json: problem };
  const list = /\/console\/.+\/messages(?:\?|$)/;
  await page.route(list, (route) => route.fulfill(answer));
  await page.getByRole("link", { name: "Messages", exact: true }).click();

  await page.getByText("Too many requests.").waitFor();
  await page.getByText(/^Wait \d+ seconds\.$/).waitFor();
  assert.ok(await page.getByRole("button", { name: "Try again" }).isDisabled());
  await tab.check("failed");
  await page.unroute(list);
  await page.clock.fastForward(60_000);

  // After losing a minute, the page also asks by itself, perhaps before a click.
  const again = page.getByRole("button", { name: "Try again", disabled: false });
  await again.or(page.locator(rows).first()).waitFor();
});
