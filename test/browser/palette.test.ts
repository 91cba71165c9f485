import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { siteOfFile } from "../support/site.ts";

const { site, account, ada } = await siteOfFile();
const key = await site.key(account, { name: "Web shop" });
const messageIds: string[] = [];
for (let sent = 0; sent < 30; sent += 1) {
  const message = { recipient: "4915112345678", text: `Number ${sent}`, reference: "order-7" };
  messageIds.push((await site.send(key, message)).messageId);
}

const dialog = (page: Page) => page.getByRole("dialog");
const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 });
const box = (page: Page) =>
  page.getByRole("textbox", { name: "Search pages, actions and messages" });
const found = (page: Page, name: string | RegExp) => dialog(page).getByRole("button", { name });

test("the palette finds actions, pages by their synonyms, and a message by its pasted id", async () => {
  await using tab = await site.signedIn(ada, "/team");
  const { page } = tab;
  await heading(page, "Team").waitFor();

  await page.getByRole("button", { name: /^Search/ }).focus();
  await page.keyboard.press("Control+K");
  await found(page, "Overview").waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await tab.focusIs("Search…Ctrl K");

  await page.keyboard.press("Enter");
  await found(page, "Overview").waitFor();
  assert.equal(await found(page, /Operator/).count(), 0, "what is the operator's is absent");
  await tab.check("palette");
  await box(page).fill("csv");
  await found(page, "Credits").waitFor();
  await tab.check("palette filtered");
  await box(page).fill("ledger");
  await found(page, "Messages with reference ledger").waitFor();
  await page.keyboard.press("Enter");
  await heading(page, "Credits").waitFor();
  await dialog(page).waitFor({ state: "detached" });

  await page.keyboard.press("Control+K");
  await box(page).fill("new");
  await found(page, "Create a key").click();
  await page.getByRole("dialog", { name: "Create a key" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByLabel("State").focus();
  await page.keyboard.press("Control+K");
  await box(page).fill(messageIds[3] ?? "");
  await found(page, `Open message ${messageIds[3]}`).click();
  await page.getByText("Number 3", { exact: true }).first().waitFor();
  assert.equal(new URL(page.url()).pathname, `/messages/${messageIds[3]}`);
});

/** The second letter must follow soon; if a busy machine was too slow, types again. */
async function go(page: Page, letter: string, name: string): Promise<void> {
  for (let tries = 0; tries < 5; tries += 1) {
    await page.keyboard.type(`g${letter}`);
    const isThere = await heading(page, name)
      .waitFor({ timeout: 6_000 })
      .then(
        () => true,
        () => false,
      );
    if (isThere) return;
  }
  assert.fail(`g ${letter} does not lead to ${name}`);
}

test("the link past the navigation is out of sight until it has the focus, even with text twice as large", async () => {
  await using tab = await site.signedIn(ada, "/team");
  const { page } = tab;
  const skip = page.getByRole("link", { name: "Skip to the content" });
  await skip.waitFor();
  await page.evaluate("document.documentElement.style.fontSize = '200%'");

  const hidden = (await skip.boundingBox()) ?? assert.fail("it is not there");
  // Its edge may be drawn up to a pixel lower.
  assert.ok(hidden.y + hidden.height <= -1, `it reaches down to ${hidden.y + hidden.height}`);
  await skip.focus();
  assert.equal((await skip.boundingBox())?.y, 8);
});

test("with text twice as large, the header still holds its buttons, and the navigation its icons", async () => {
  await using tab = await site.signedIn(ada, "/team");
  const { page } = tab;
  await heading(page, "Team").waitFor();
  await page.evaluate("document.documentElement.style.fontSize = '200%'");

  const header = page.getByRole("banner");
  const height = (await header.boundingBox())?.height ?? 0;
  for (const each of await header.locator(":is(a, button, button span):visible").all()) {
    const box = (await each.boundingBox()) ?? assert.fail("it is not there");
    assert.ok(box.y >= 0 && box.y + box.height <= height, await each.innerText());
  }
  const icons = page.getByRole("navigation").locator("svg");
  for (const icon of await icons.all()) assert.equal((await icon.boundingBox())?.width, 18);
  await tab.picture("large text");
});

test("shortcuts open pages, rows and dialogs, but not while typing; an operator finds the operator's pages", async () => {
  const olga = await site.person("Olga Operator", [[account, "developer"]], true);
  await using tab = await site.signedIn(olga, "/team");
  const { page } = tab;
  await heading(page, "Team").waitFor();

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await tab.check("shortcuts");
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  assert.equal(await dialog(page).count(), 1, "nothing happens under a dialog");
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  const pages = {
    w: "Webhooks",
    k: "API keys",
    c: "Credits",
    t: "Team",
    p: "Compose",
    o: "Overview",
  };
  for (const [letter, name] of Object.entries({ ...pages, m: "Messages" })) {
    await go(page, letter, name);
  }

  const rows = page.locator("main [data-row]");
  await rows.nth(24).waitFor();
  const focused = () =>
    page.evaluate<string>("document.activeElement.closest('[data-row]').dataset.row");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.equal(await focused(), await rows.nth(1).getAttribute("data-row"));
  await page.keyboard.press("k");
  assert.equal(await focused(), await rows.nth(0).getAttribute("data-row"));
  await page.keyboard.press("]");
  await page.getByRole("cell", { name: "Number 0", exact: true }).waitFor();
  await page.keyboard.press("[");
  await page.getByRole("cell", { name: "Number 29", exact: true }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("n?gk");
  assert.equal(await page.getByLabel("Search", { exact: true }).inputValue(), "n?gk");
  assert.equal(await dialog(page).count(), 0);
  await page.getByRole("heading", { name: "Messages", level: 1 }).click();
  await page.keyboard.press("n");
  await page.getByRole("dialog", { name: "Create a key" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });

  await page.keyboard.press("Control+K");
  await box(page).fill("smpp");
  await found(page, "Operator: carriers").click();
  await page.getByRole("region", { name: "simulator" }).waitFor();
});
