import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { consoleOperations, operations } from "#contract";
import { bookCredits } from "#credits";
import { sql, systemClock } from "#platform";
import { tryAgain, whileLate } from "../support/faults.ts";
import { sameDay } from "../support/same-day.ts";
import { siteOfFile } from "../support/site.ts";

const { site, account, ada } = await siteOfFile({ credits: 102 });
const key = await site.key(account);

const send = (recipient: string) => site.send(key, { recipient, text: "Hello" });

const dialog = (page: Page) => page.getByRole("dialog");
const rows = (page: Page) => page.locator("main [data-row]");
/** Each figure comes with an answer of its own. */
async function shows(page: Page, label: string, figure: string): Promise<void> {
  const number = page.locator(`[data-number="${label}"]`);
  await number.and(page.getByText(figure, { exact: true })).waitFor();
}

function fetchText(page: Page, path: string): Promise<string> {
  return page.evaluate<string>(`fetch(${JSON.stringify(path)}).then((answer) => answer.text())`);
}

test("an account without credits says what will appear here, its chip that none are left, and its walk that it cannot send", async () => {
  const poor = await site.account({ name: "Poor", credits: 0 });
  const owner = await site.person("Poor Owner", [[poor, "viewer"]]);
  await using tab = await site.signedIn(owner, "/");

  await tab.page.getByText("No credits are left: nothing can be sent.").waitFor();
  await tab.check("walk without credits");
  await tab.page.getByRole("link", { name: "View credits" }).click();
  await tab.page.getByText("No entries yet").waitFor();
  await tab.page.getByText("Nothing can be sent until the account is topped up").waitFor();

  await tab.page.getByRole("link", { name: /^0 credits\. / }).waitFor();
  await tab.check("nothing yet");
});

test("however large the balance, it stays within its box, here and on the overview", async () => {
  const rich = await site.account({ name: "Rich", credits: 987_654_321_098 });
  await site.send(await site.key(rich), { recipient: "4915112345678", text: "Hello" });
  const owner = await site.person("Rich Owner", [[rich, "viewer"]]);
  await using tab = await site.signedIn(owner, "/credits");
  const { page } = tab;
  const boxes = page.locator("main :has(> :is([data-number], [data-figure]))");

  for (const [path, label] of [
    ["/credits", "Balance"],
    ["/", "Credits"],
  ] as const) {
    await tab.go(path);
    await page.locator(`[data-number="${label}"], [data-figure="${label}"]`).waitFor();
    await page.getByText(/years/).first().waitFor();
    for (const width of [1280, 768, 320]) {
      await page.setViewportSize({ width, height: 740 });
      const wider = boxes.evaluateAll((all) =>
        all.flatMap(({ children, clientWidth, textContent }) =>
          [...children].some(
            ({ scrollWidth, scrollHeight, clientHeight }) =>
              scrollWidth > clientWidth || scrollHeight > clientHeight + 1,
          )
            ? textContent
            : [],
        ),
      );
      assert.deepEqual(await wider, [], `${path} on ${width} pixels`);
      await tab.picture(`large numbers, ${label}, ${width}`);
    }
  }
});

test("a number keeps its distance from the next column", async () => {
  await using tab = await site.signedIn(ada, "/credits");
  const cells = rows(tab.page).first().getByRole("cell");
  await cells.first().waitFor();

  const [number, next] = await Promise.all([3, 4].map((n) => textBox(cells.nth(n))));

  assert.ok(number && next && next.left - number.right >= 24);
});

/** The position of an element's text, without the space around it. */
function textBox(element: Locator): Promise<{ left: number; right: number }> {
  return element.evaluate((node) => {
    const range = node.ownerDocument.createRange();
    range.selectNodeContents(node);
    const { left, right } = range.getBoundingClientRect();
    return { left, right };
  });
}

test("used-up credits are given no forecast", async () => {
  const spent = await site.account({ name: "Spent", credits: 1 });
  const owner = await site.person("Spent Owner", [[spent, "owner"]]);
  await site.send(await site.key(spent), { recipient: "4915112345678", text: "Hello" });
  await using tab = await site.signedIn(owner, "/credits");
  const { page } = tab;

  await page.getByText("1 used in the last 30 days, up to 1 in a day.").waitFor();
  await shows(page, "Balance", "0");
  await shows(page, "Lasts about", "–");
  await tab.check("used up");
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("1 used in this range").waitFor();
});

test("a send shows its charge and a failed one its refund; balance, last row, sum, CSV and API agree", async () => {
  await sameDay("Europe/Paris");
  await using tab = await site.signedIn(ada, "/credits");
  const { page } = tab;
  await page.getByRole("link", { name: "102 credits", exact: true }).waitFor();

  await send("4915112345678");
  await page.getByRole("row").filter({ hasText: "Charge" }).getByText("-1").waitFor();
  await send("4915112340002");
  await page.getByRole("row").filter({ hasText: "Refund" }).getByText("+1").waitFor();
  await send("4915112345678");
  await page.getByRole("link", { name: "100 credits. Credits are low" }).waitFor();

  await rows(page).nth(4).waitFor();
  await page.getByText("2 used in the last 30 days, up to 2 in a day.").waitFor();
  await tab.check("ledger");
  await shows(page, "Balance", "100");
  const [newest] = await rows(page).all();
  assert.equal(await newest?.getByRole("cell").nth(3).innerText(), "100");
  assert.equal(await newest?.getByRole("cell").nth(5).innerText(), "Posthorn", "nobody booked it");
  const amounts = await page.locator("main [data-row] strong").allInnerTexts();
  const total = (all: string[]) => all.reduce((sum, each) => sum + Number(each), 0);
  assert.equal(total(amounts), 100);
  const v1 = await fetch(`${site.url}/v1/credits`, { headers: { "x-api-key": key } });
  assert.equal(((await v1.json()) as { balance: number }).balance, 100);
  const csv = page.getByRole("link", { name: /^Ledger of .+ \(CSV\)$/ });
  const lines = (await fetchText(page, (await csv.getAttribute("href")) ?? ""))
    .trim()
    .split("\r\n");
  assert.equal(total(lines.slice(1).map((line) => line.split(",")[3] ?? "")), 100);
  assert.ok(!tab.requests.some((each) => each.includes("/charts-")), "no chart library here");
});

test("filters are kept in the address, and one without matches can be cleared", async () => {
  await using tab = await site.signedIn(ada, "/credits?kind=nonsense&month=2026-13");
  const { page } = tab;
  await rows(page).first().waitFor();
  assert.equal(page.url(), `${site.url}/credits`);

  await page.getByText("Top-up", { exact: true }).first().click();
  await rows(page).nth(1).waitFor({ state: "detached" });
  assert.equal(page.url(), `${site.url}/credits?kind=topup`);
  await page.setViewportSize({ width: 375, height: 812 });
  await page.getByRole("button", { name: "Filters (1)" }).waitFor();
  await page.getByRole("link", { name: "(CSV)" }).waitFor({ state: "hidden" });
  const first = await rows(page).first().boundingBox();
  assert.ok(first && first.y + first.height < 812, "a phone's first screen reaches the ledger");
  await page.getByRole("button", { name: "Filters (1)" }).click();
  await page.getByRole("link", { name: "(CSV)" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await tab.go("/credits?kind=adjustment");
  await page.getByText("No entries match").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await rows(page).nth(1).waitFor();
});

test("if the search for a page was cut short, nothing is claimed about entries not searched", async () => {
  const long = await site.account({ name: "Long", credits: 0 });
  const owner = await site.person("Long Owner", [[long, "owner"]]);
  await site.db.query(sql`
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select ${long.accountId}, n, gen_random_uuid(), case when n = 1 then 'refund' else 'charge' end, 0, 0, now()
      from generate_series(1, 10001) n`);
  await using tab = await site.signedIn(owner, "/credits?kind=refund");
  const { page } = tab;

  await page.getByText("None on this page").waitFor();
  assert.equal(await page.getByText("No entries match").count(), 0);
  await tab.check("cut short");
  await page.getByRole("button", { name: "Look further back" }).click();

  await rows(page).first().waitFor();
});

test("an operator books with a note, once per reference and never below zero; others cannot", async () => {
  const other = await site.account({ name: "Booked", credits: 0 });
  const owner = await site.person("Plain Owner", [[other, "owner"]]);
  const boss = await site.person("Grace Hopper", [[other, "viewer"]], true);
  await using tab = await site.signedIn(boss, "/credits", { statuses: [422] });
  const { page } = tab;
  const book = async (kind: "Top-up" | "Adjustment", amount: string, reference: string) => {
    await page.getByRole("button", { name: "Top up" }).click();
    await dialog(page).getByLabel(kind).check();
    await dialog(page).getByLabel("Credits *", { exact: true }).fill(amount);
    await dialog(page).getByLabel("Note").fill("Invoice 17");
    await dialog(page).getByLabel("Your reference").fill(reference);
  };
  const press = () =>
    dialog(page)
      .getByRole("button", { name: /^(?:Top up|Adjust)$/ })
      .click();

  await book("Top-up", "1500", "inv-17");
  await dialog(page).getByText("The balance goes from 0 to 1,500.").waitFor();
  await tab.check("book");
  await press();
  await page.getByText("Credits booked").waitFor();
  await page.getByRole("cell", { name: "Invoice 17" }).waitFor();
  await page.getByRole("cell", { name: "Grace Hopper" }).waitFor();
  await book("Top-up", "1500", "inv-17");
  await press();
  await page.getByText("This reference was already booked; nothing was changed").waitFor();
  await book("Adjustment", "-2000", "fix-1");
  await press();
  await dialog(page)
    .getByText(/below zero/)
    .first()
    .waitFor();
  await page.keyboard.press("Escape");

  await shows(page, "Balance", "1,500");
  await using plain = await site.signedIn(owner, "/credits", { statuses: [404] });
  await plain.page.getByText("ask the operator of this installation").waitFor();
  assert.equal(await plain.page.getByRole("button", { name: "Top up" }).count(), 0);
  const status = await plain.page.evaluate<number>(`fetch(
    "/console/operator/accounts/${other.accountId}/credits",
    { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind: "topup", amount: 5, note: "x", reference: "y" }) },
  ).then(({ status }) => status)`);
  assert.equal(status, 404);
});

test("no ledger entry can be edited or deleted anywhere", async () => {
  const paths = Object.values({ ...consoleOperations, ...operations })
    .filter(({ path }) => /ledger/.test(path))
    .map(({ method }) => method);

  assert.deepEqual(new Set(paths), new Set(["GET"]));
  await assert.rejects(site.db.query(sql`update ledger set amount = 1000000`));
  await assert.rejects(site.db.query(sql`delete from ledger`));
});

test("pages show every entry once and turn once loaded; late data shows placeholders, even with reduced motion, and failed panels leave others working", async () => {
  const busy = await site.account({ name: "Busy", credits: 0 });
  const owner = await site.person("Busy Owner", [[busy, "owner"]]);
  const entry = {
    ...busy,
    kind: "topup",
    amount: 1,
    actor: "cli",
    now: systemClock.now(),
  } as const;
  for (let n = 1; n <= 30; n += 1) await bookCredits(site.db, { ...entry, note: `Entry ${n}` });
  await using tab = await site.signedIn(owner, "/keys", { statuses: [500] });
  const { page } = tab;

  await whileLate({ site, tab, link: "Credits" }, async () => {
    await page.getByRole("status", { name: "Loading" }).locator("div").first().waitFor();
    const moving = await page.evaluate<number>("document.getAnimations().length");
    assert.equal(moving, 0, "it stands still for those who want no motion");
    await tab.check("loading");
  });
  await page.getByRole("cell", { name: "Entry 6", exact: true }).waitFor();
  assert.equal(await rows(page).count(), 25);
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByRole("cell", { name: "Entry 5", exact: true }).waitFor();
  assert.equal(await rows(page).count(), 5);
  await page.getByRole("button", { name: "Newer" }).click();
  await page.getByRole("cell", { name: "Entry 30", exact: true }).waitFor();

  await site.db.query(sql`alter table ledger rename to ledger_away`);
  try {
    await page.reload();
    await page.getByRole("alert").getByText("Request id", { exact: true }).waitFor();
    await shows(page, "Balance", "30");
    await tab.check("error");
  } finally {
    await site.db.query(sql`alter table ledger_away rename to ledger`);
  }
  await tryAgain(page, rows(page).first());

  const answer = Promise.withResolvers<void>();
  await page.route("**/ledger?*kind=*", (route) => answer.promise.then(() => route.continue()));
  await page.getByRole("group", { name: "Kind" }).getByText("Top-up").click();
  await page.getByRole("button", { name: "Older", disabled: true }).waitFor();
  answer.resolve();
  await page.getByRole("button", { name: "Older", disabled: false }).click();
  await page.getByRole("cell", { name: "Entry 5", exact: true }).waitFor();
});
