import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { startSmsc } from "#carriers";
import { setPrice } from "#messages";
import { sql } from "#platform";
import type { Smsc } from "../../server/carriers/smsc.ts";
import { callPosthorn } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { whileLate, withoutColumn } from "../support/faults.ts";
import { sendUnanswered } from "../support/lost-answer.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import { TEST_SECRET_KEY } from "../support/process.ts";
import { TEST_SECRETS } from "../support/secret-key.ts";
import { copyAndClose, shownLink } from "../support/shown-once.ts";
import {
  type Account,
  NO_PAGE,
  NOWHERE,
  type Person,
  type Site,
  startSite,
} from "../support/site.ts";

let site: Site;
let account: Account;
let olga: Person;
let smsc: Smsc;
before(async () => {
  site = await startSite();
  account = await site.account();
  olga = await site.person("Olga Operator", [[account, "viewer"]], true);
  smsc = await startSmsc({ receipts: { states: ["DELIVRD"] } });
});
after(async () => {
  await site[Symbol.asyncDispose]();
  await smsc.stop();
});

const withDatabase = () => ({
  environment: { DATABASE_URL: site.db.url, SECRET_KEY: TEST_SECRET_KEY },
});
const dialog = (page: Page) => page.getByRole("dialog");
const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });
const card = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const fact = (within: Locator, label: string, value: string) =>
  within.getByText(label).locator("..").getByText(value, { exact: true });
const section = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Operator pages" }).getByRole("link", { name });

test("an operator creates an account, whose owner joins by the latest link, and tops it up", async () => {
  await using tab = await site.signedIn(olga, "/operator");
  const { page } = tab;
  await row(page, "Example").waitFor();
  await tab.check("accounts");
  await page.getByRole("button", { name: "Create account" }).click();
  await dialog(page).getByLabel("Name").fill("Analytical Engines");
  await dialog(page).getByLabel("Starting credits").fill("500");
  await tab.check("create account");
  await dialog(page).getByRole("button", { name: "Create account" }).click();
  const link = await shownLink(site, tab, {
    label: "Invitation link of the owner",
    answer: /^POST \/console\/operator\/accounts$/,
  });
  await copyAndClose(tab, "Copy link");
  await page
    .getByRole("button", { name: "Create another owner link for Analytical Engines" })
    .click();
  await tab.check("another owner link");
  await dialog(page).getByRole("button", { name: "Create link" }).click();
  const another = await shownLink(site, tab, {
    label: "Invitation link of the owner",
    answer: /^POST \/console\/operator\/accounts\/[^/]+\/owner-link$/,
  });
  await copyAndClose(tab, "Copy link");
  await using owner = await site.tab({ statuses: [401, 404] });
  await owner.page.goto(another);
  await owner.page.getByText(/to the account Analytical Engines as owner/).waitFor();
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token");
  const earlier = await owner.page.evaluate<string>(`fetch("/console/links/read", {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: ${JSON.stringify(token)} }),
  }).then((answer) => answer.text())`);
  assert.match(earlier, /withdrawn/);

  await page.getByRole("button", { name: "Top up Analytical Engines" }).click();
  await dialog(page).getByLabel("Credits *", { exact: true }).fill("250");
  await dialog(page).getByLabel("Note").fill("Invoice 17");
  await dialog(page).getByLabel("Your reference").fill("invoice-17");
  await dialog(page).getByText("The balance goes from 500 to 750.").waitFor();
  await dialog(page).getByRole("button", { name: "Top up" }).click();
  await row(page, "Analytical Engines").getByText("750").waitFor();
  await page.getByRole("searchbox", { name: "Search" }).fill("no such account");
  await page.getByText("Nothing matches").waitFor();
  assert.match(page.url(), /\?q=no/);
  await tab.check("no account matches");
});

test("an account's name is shown in full, so that no other is topped up by mistake", async () => {
  const { name } = await site.account({
    name: "Second Shop of the Northern Region, Customer Care, Ltd",
  });
  await using tab = await site.signedIn(olga, `/operator/accounts?q=${encodeURIComponent(name)}`);

  const shown = tab.page.getByRole("cell", { name, exact: true });
  const [needed, given] = await shown.evaluate((at) => [at.scrollWidth, at.clientWidth]);

  assert.equal(needed, given);
});

test("an account form resubmitted because its answer was lost creates no second account", async () => {
  await using tab = await site.signedIn(olga, "/operator", { statuses: [0, 409] });
  const { page } = tab;
  await page.getByRole("button", { name: "Create account" }).click();
  await dialog(page).getByLabel("Name").fill("Made Once");
  await dialog(page).getByLabel("Starting credits").fill("500");
  const submit = dialog(page).getByRole("button", { name: "Create account" });
  await sendUnanswered(page, submit, "**/accounts");

  await submit.click();
  await dialog(page).getByText("This form has already created its link").waitFor();

  const balances = await site.db.query(sql`select balance from accounts where name = 'Made Once'`);
  assert.deepEqual(balances, [{ balance: 500 }]);
});

test("a user's many accounts are listed a few at a time, also on a phone; an operator's reset link sets a password once, and may drop the second factor", async () => {
  // In sequence: those created first are the ones shown.
  const many: Account[] = [];
  for (const name of ["Arp", "Buchla", "Korg", "Oberheim", "Roland"])
    many.push(await site.account({ name }));
  const bob = await site.person("Bob Moog", [
    [account, "viewer"],
    ...many.map((each): [Account, "viewer"] => [each, "viewer"]),
  ]);
  await site.db.query(sql`update users set totp = '\\x00' where email = ${bob.email}`);
  await using tab = await site.signedIn(olga, "/operator/users?q=Bob");
  await row(tab.page, "Buchla").getByText("Roland").waitFor({ state: "hidden" });
  await tab.page.getByText("and 3 more").click();
  await row(tab.page, "Buchla").getByText("Roland").waitFor();
  await tab.check("accounts of a user");
  await tab.page.setViewportSize({ width: 375, height: 812 });
  await tab.page.getByRole("listitem").filter({ hasText: "Accounts: Example" }).waitFor();
  await tab.page.setViewportSize({ width: 1280, height: 800 });
  const opener = "Create a reset link for Bob Moog";
  await tab.page.getByRole("button", { name: opener }).click();
  await dialog(tab.page).getByLabel("Also switch off the second factor").check();
  await dialog(tab.page).getByRole("button", { name: "Create link" }).click();
  const answer = /^POST \/console\/operator\/users\/[^/]+\/reset-link$/;
  const link = await shownLink(site, tab, { label: "Reset link", answer });
  await copyAndClose(tab, "Copy link");
  await tab.focusIs(opener);
  await tab.page.keyboard.press("Enter");
  await dialog(tab.page).getByRole("button", { name: "Create link" }).waitFor();
  await tab.check("reset");

  await using his = await site.tab({ statuses: [401, 404] });
  await his.page.goto(link);
  await his.page.getByText(`For ${bob.email}.`).waitFor();
  await his.page.getByText("This also switches off your second factor.").waitFor();
  await his.check("new password");
  const password = "plain boat 31 window";
  site.secrets.set(password, NOWHERE);
  await his.page.getByLabel("New password").fill(password);
  await his.page.getByRole("button", { name: "Set password" }).click();
  await his.page.getByText("Your password is set. Sign in with it.").waitFor();
  await his.page.getByRole("link", { name: "Go to sign-in" }).click();
  await his.page.getByLabel("E-mail").fill(bob.email);
  await his.page.getByLabel("Password", { exact: true }).fill(password);
  await his.page.getByRole("button", { name: "Sign in" }).click();
  await his.page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("a carrier is added by the command shown, bound, paused, changed, lost and recovered; failures are shown, its password never is", async () => {
  const [password, changed] = ["sesam123", "anders12"];
  site.secrets.set(password, NOWHERE).set(changed, NOWHERE);
  await using tab = await site.signedIn(olga, "/operator/accounts");
  const { page } = tab;
  await row(page, "Example").waitFor();
  await whileLate({ site, tab, link: "Carriers" }, async () => {
    await page.getByRole("status", { name: "Loading" }).locator("div").first().waitFor();
    await tab.check("carriers loading");
  });
  await page.getByText("Only the simulator").waitFor();
  await tab.check("only the simulator");

  const address = `127.0.0.1:${smsc.port}`;
  const shown = (await page.getByText(/^npx posthorn carrier add/).textContent()) ?? "";
  const command = shown.replace("NAME", "acme").replace("HOST:PORT", address).replace("USER", "me");
  const added = await callPosthorn([...command.split(" ").slice(2), "--enquire-link", "100ms"], {
    ...withDatabase(),
    input: password,
  });
  assert.equal(added.code, 0, added.stderr);
  const acme = card(page, "acme");
  await acme.getByText("transceiver: Bound").waitFor();
  const beside = card(page, "simulator").getByRole("button", { name: "Pause" });
  await acme.getByText(/^changed .*, enquire_link answered /).waitFor();
  const standing = await beside.boundingBox();
  await acme.getByRole("button", { name: "Test bind" }).click();
  await acme
    .getByRole("status")
    .getByText(/and it answers\. It took \d/)
    .waitFor();
  assert.deepEqual(await beside.boundingBox(), standing, "no button of another carrier moves");
  assert.equal(await acme.getByRole("alert").count(), 0, "it is told politely, and once");

  await acme.getByRole("button", { name: "Settings…" }).click();
  const rate = dialog(page).getByLabel("Segments per second");
  await rate.fill("");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).getByText("Enter a whole number of 0 or more.").waitFor();
  await rate.fill("0");
  const size = dialog(page).getByLabel("Window");
  const usual = await size.inputValue();
  await size.fill("10001");
  tab.expect(422);
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).getByText("window must be a whole number from 1 to 10000.").waitFor();
  await size.and(page.locator("[aria-invalid=true]:focus")).waitFor();
  await size.fill(usual);
  await dialog(page).getByLabel("New password").fill(changed);
  await tab.check("settings of a carrier");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("acme saved").waitFor();
  const limits = sql`
    select settings ->> 'rate' as rate, settings ->> 'window' as window from carriers where name = 'acme'`;
  const saved = await site.db.query(limits);
  assert.deepEqual(saved, [{ rate: "0", window: null }], "what was typed, and nothing else");

  await acme.getByRole("button", { name: "Settings…" }).click();
  await site.db.query(sql`
    update carriers set settings = settings || '{"rate": 49}', version = version + 1 where name = 'acme'`);
  await acme.getByText(/limit 49\/s/).waitFor();
  await dialog(page).getByLabel("Window").fill("12");
  tab.expect(409);
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).getByRole("alert").waitFor();
  const kept = await site.db.query(limits);
  assert.deepEqual(kept, [{ rate: "49", window: null }], "no change of somebody else is undone");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();

  await section(page, "Routes").click();
  await row(page, "simulator").waitFor();
  const replaces = page.getByText("Replaces the current setting");
  assert.equal(await replaces.count(), 0, "of a form that nobody has touched");
  await page.getByLabel("Prefix").fill("33");
  await page.getByLabel("First carrier").selectOption("acme");
  await page.getByRole("button", { name: "Set route" }).click();
  await row(page, "acme").waitFor();
  await page.getByRole("button", { name: "Edit 33" }).click();
  assert.equal(await page.getByLabel("Prefix").inputValue(), "33");
  await page.getByText("Replaces the current setting: acme.").waitFor();
  await page.getByLabel("If that fails").selectOption("simulator");
  await page.getByRole("button", { name: "Set route" }).click();
  await row(page, "acme, simulator").waitFor();
  await section(page, "Carriers").click();
  await acme.getByRole("button", { name: "Pause" }).click();
  await dialog(page).getByRole("button", { name: "Pause" }).click();
  await acme.getByText("Paused").waitFor();
  const before = smsc.submitCount();
  const key = await site.key(account);
  await send(key, "33612345678");
  for (let later = 0; later < 2; later += 1)
    await send(key, "447700900123", { sendAt: new Date(Date.now() + 3_600_000).toISOString() });
  await acme.getByText("1", { exact: true }).waitFor();
  assert.equal(smsc.submitCount(), before, "nothing is handed over");
  await section(page, "Queue and nodes").click();
  await row(page, "Example").getByText("1", { exact: true }).waitFor();
  await row(page, "Example").getByText("2", { exact: true }).waitFor();
  await tab.check("queue");
  await tab.go("/messages");
  await row(page, "carrier paused").getByRole("link").click();
  await dialog(page).getByText("Waiting for acme, which the operator has paused.").waitFor();
  await tab.go("/operator/carriers");
  await fact(acme, "Error codes, last hour", "None").waitFor();
  await fact(acme, "Late receipts, last hour", "0").waitFor();
  await acme.getByText("May be incomplete before").waitFor();
  tab.expect(0);
  await page.route("**/resume", (route) => route.abort("internetdisconnected"));
  await acme.getByRole("button", { name: "Resume" }).click();
  await acme.getByRole("alert").getByText("No answer came").waitFor();
  await page.unroute("**/resume");
  // The second receipt comes when the first one has already ended the message.
  smsc.sendReceipts({ states: ["DELIVRD", "UNDELIV"] });
  await acme.getByRole("button", { name: "Resume" }).click();
  await smsc.submitArrived(before + 1);
  await fact(acme, "Late receipts, last hour", "1").waitFor();
  await acme.getByText(/^transceiver: .*, window \d+ in use, [\d.]+\/s, p50 .+, p99 /).waitFor();
  smsc.answer("refuse");
  await send(key, "33612345679");
  await fact(acme, "Error codes, last hour", "0x45 (submit failed) × 1").waitFor();
  await tab.check("carriers");

  await smsc.stop();
  await acme.getByText("Down").waitFor();
  await acme.getByText("The carrier refused the connection (ECONNREFUSED).").waitFor();
  await acme.getByRole("button", { name: "Test bind" }).click();
  await acme.getByText(/^No bind to .*: the carrier refused the connection/).waitFor();
  await tab.check("carrier down");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByText("The carrier acme is down.").waitFor();
  smsc = await startSmsc({ port: smsc.port });
  await page.goBack();
  await acme.getByText("transceiver: Bound").waitFor();
  await acme.getByText(/^Since start: .*\d\sreconnect/).waitFor();
});

async function send(
  key: string,
  recipient: string,
  more: object = {},
): Promise<{ credits: number }> {
  const answer = await fetch(`${site.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ recipient, text: "Hello", ...more }),
  });
  assert.equal(answer.status, 202);
  return (await answer.json()) as { credits: number };
}

test("on a phone the operator's pages form one scrolling line, with the open one visible and naming the tab", async () => {
  await using tab = await site.signedIn(olga, "/operator/audit", { isPhone: true });
  const { page } = tab;
  const boxOf = async (name: string) => {
    const box = await section(page, name).boundingBox();
    return box ?? assert.fail(`${name} is not there`);
  };
  const inSight = (name: string) =>
    eventually(`${name} is in sight`, async () => {
      const { x, width } = await boxOf(name);
      return x >= 0 && x + width <= 375;
    });
  await page.getByRole("link", { name: "Download CSV" }).waitFor();
  await inSight("Audit log");
  assert.equal(await page.title(), "Operator · Audit log · Posthorn");
  assert.equal((await boxOf("Accounts")).y, (await boxOf("Audit log")).y);
  assert.ok((await boxOf("Accounts")).x < 0, "it has scrolled out");
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByLabel("Actor").fill("nobody");
  await page.getByText("No entries match").waitFor();
  await tab.check("no entry matches, by filters on a phone");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByText("Request:").first().waitFor();

  await section(page, "Accounts").click();
  await page.getByText("Members:").first().waitFor();
  await inSight("Accounts");
  await page.goBack();
  await inSight("Audit log");
});

test("prices: the longest prefix wins, and the page shows what a send costs", async () => {
  await using tab = await site.signedIn(olga, "/operator/prices", { statuses: [409] });
  const { page } = tab;
  await page.getByText("No prices yet").waitFor();
  await tab.check("no prices");
  const credits = page.getByLabel("Credits per segment");
  const set = page.getByRole("button", { name: "Set price" });
  for (const [prefix, price] of [
    ["49", "2"],
    ["49151", "5"],
  ] as const) {
    await page.getByLabel("Prefix").fill(`+${prefix}`);
    await credits.fill(price);
    await set.click();
    await row(page, prefix).getByText(price, { exact: true }).waitFor();
  }
  const number = page.getByRole("textbox", { name: "Number" });
  await number.fill("no number");
  tab.expect(422);
  await page.getByRole("button", { name: "Look up" }).click();
  await page.getByText(/^A number has 7 to 15 digits/).waitFor();
  assert.match((await number.getAttribute("aria-describedby")) ?? "", /error/);
  await page.locator("input[type=tel]:focus").waitFor();
  await tab.check("a number that is none");
  await number.fill("+49 151 12345678");
  await page.getByRole("button", { name: "Look up" }).click();
  const found = page.getByText("5 credits per segment, by prefix 49151");
  await found.waitFor();
  await page.getByText("Any other number costs 1 credit per segment.").waitFor();
  await tab.check("prices");

  const key = await site.key(account, { name: "Prices" });
  assert.equal((await send(key, "4915112345678")).credits, 5);
  assert.equal((await send(key, "4917012345678")).credits, 2);
  await page.getByRole("button", { name: "Remove 49151" }).click();
  await site.db.query(sql`update routing_version set version = version + 1`);
  tab.expect(409);
  await dialog(page).getByRole("button", { name: "Remove" }).click();
  await dialog(page).getByRole("alert").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Remove 49151" }).click();
  await dialog(page).getByRole("alert").waitFor({ state: "detached" });
  await dialog(page)
    .getByText(/^Numbers that start with 49151 will use/)
    .waitFor();
  await dialog(page).getByRole("button", { name: "Remove" }).click();
  await row(page, "49151").waitFor({ state: "detached" });
  await found.waitFor({ state: "detached" });
  assert.equal((await send(key, "4915112345678")).credits, 2);

  const { promise: isLookedUp, resolve: listMayCome } = Promise.withResolvers<void>();
  await page.route("**/console/operator/routes", (route) =>
    isLookedUp.then(() => route.continue()),
  );
  await section(page, "Routes").click();
  // Both pages have a field of this name, but only this one can set a route.
  await page.getByRole("button", { name: "Set route" }).waitFor();
  await page.getByRole("textbox", { name: "Number" }).fill("4915112345678");
  await page.getByRole("button", { name: "Look up" }).click();
  const foundEarly = page.getByText("simulator, by the route for any other number");
  await foundEarly.waitFor();
  listMayCome();
  await row(page, "any other number").waitFor();
  assert.ok(await foundEarly.isVisible(), "what was found before the list came still stands there");
  await tab.check("routes");
});

test("editing a price overwrites no later change, and a late answer clears no other row's form", async () => {
  await site.db.query(sql`insert into prices (prefix, credits) values ('', 7), ('44', 2)`);
  await using tab = await site.signedIn(olga, "/operator/prices", { statuses: [409] });
  const { page } = tab;
  const credits = page.getByLabel("Credits per segment");
  const replaces = (price: string) =>
    page.getByText(`Replaces the current setting: ${price} credits.`).waitFor();
  const edit = (prefix: string) =>
    page.getByRole("button", { name: `Edit ${prefix}`, exact: true }).click();
  const set = () => page.getByRole("button", { name: "Set price" }).click();
  await row(page, "44").waitFor();
  assert.equal(await page.getByText("Replaces the current setting").count(), 0, "nobody has begun");

  await edit("44");
  await replaces("2");
  await setPrice(site.db, { prefix: "44", credits: 3 }, { actor: "cli", now: new Date() });
  await replaces("3");
  await credits.fill("4");
  await set();
  await page
    .getByRole("alert")
    .getByText(/^Someone else .+, then set yours again\.$/)
    .waitFor();
  await row(page, "44").getByText("3", { exact: true }).waitFor();

  await edit("44");
  await page.getByRole("alert").waitFor({ state: "detached" });
  assert.equal(await credits.inputValue(), "3");
  await credits.fill("6");
  const answer = Promise.withResolvers<void>();
  await page.route("**/operator/prices", async (route) => {
    if (route.request().method() === "POST") await answer.promise;
    await route.continue();
  });
  await set();
  await edit("any other number");
  answer.resolve();
  await row(page, "44").getByText("6", { exact: true }).waitFor();
  await replaces("7");
  await credits.fill("8");
  await set();
  await row(page, "any other number").getByText("8", { exact: true }).waitFor();
  await page.getByText("Replaces the current setting").waitFor({ state: "detached" });
  assert.equal(await credits.inputValue(), "", "what is set is done with");

  await edit("any other number");
  await page.getByRole("button", { name: "Remove 44", exact: true }).click();
  await dialog(page).getByRole("button", { name: "Remove" }).click();
  await row(page, "44").waitFor({ state: "detached" });
  await credits.fill("9");
  await set();
  await row(page, "any other number").getByText("9", { exact: true }).waitFor();
});

test("a node that has gone is shown as stale", async () => {
  await using tab = await site.signedIn(olga, NO_PAGE);
  const { page } = tab;
  const answer = Promise.withResolvers<void>();
  await page.route("**/console/operator/queue", (route) =>
    answer.promise.then(() => route.continue()),
  );
  await page.goto(`${site.url}/operator/queue`);
  await page.getByText("Oldest due").first().waitFor();
  assert.equal(await page.getByText("nothing waiting").count(), 0, "that is not known yet");
  answer.resolve();
  await site.db.query(sql`
    insert into nodes (node_id, roles, host, pid, version, started_at, heard_at)
    values (gen_random_uuid(), array['api'], 'elsewhere', 7, '1.2.3', now(), clock_timestamp())`);
  await page
    .getByRole("row")
    .filter({ hasText: /Alive.*api(?!,)/ })
    .waitFor();
  // The node's machine dies, so it does not sign off. Half a minute passes.
  await site.db.query(sql`
    update nodes set heard_at = heard_at - interval '1 minute' where roles = array['api']`);

  await page.getByRole("row").filter({ hasText: "Stale" }).waitFor();
  await tab.check("stale node");
});

test("the audit log's filters are kept in the address, it can be exported, and a failure says so", async () => {
  await using tab = await site.signedIn(olga, "/operator/audit", { statuses: [500] });
  const { page } = tab;
  await row(page, "carrier.changed").first().waitFor();
  await row(page, "key.created")
    .first()
    .getByText("scopes: messages:send, messages:read")
    .waitFor();
  await row(page, "carrier.changed").getByText("rate: none to 0", { exact: true }).waitFor();
  await row(page, "route.set").getByText("carriers: none to acme").waitFor();
  await row(page, "price.removed").getByText("credits per segment: 5 to none").waitFor();
  assert.doesNotMatch(await page.getByRole("table").innerText(), /[{["]/, "nothing is JSON");
  await page.setViewportSize({ width: 1024, height: 800 });
  assert.equal(await page.evaluate(LINES_OF_A_SURNAME), 1, "no name is broken");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByLabel("Action").fill("no.such.action");
  await page.getByText("No entries match").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  const entries = page.getByRole("row").filter({ has: page.getByRole("cell") });
  await entries.filter({ hasNotText: "carrier.changed" }).first().waitFor();
  await page.getByLabel("Action").fill("carrier.changed");
  await entries.filter({ hasNotText: "carrier.changed" }).first().waitFor({ state: "detached" });
  assert.match(page.url(), /\?action=carrier\.changed$/);
  await row(page, "Olga Operator").first().waitFor();
  await tab.check("audit log");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download CSV" }).click(),
  ]);
  let csv = "";
  for await (const chunk of await file.createReadStream()) csv += String(chunk);
  const actions = csv
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(",")[5]);
  assert.deepEqual(new Set(actions), new Set(["carrier.changed"]));

  await withoutColumn(site.db, "audit_log.request_id", async () => {
    await page.reload();
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).waitFor();
  });
});

/** How many lines a long surname would take in an actor's cell. */
const LINES_OF_A_SURNAME = `{
  const line = document.createElement("div");
  line.innerHTML = "<span>Featherstonehaugh</span>";
  document.querySelector("main tbody td:nth-child(2)").append(line);
  const { length } = line.firstChild.getClientRects();
  line.remove();
  length;
}`;

test("a carrier removed while a route is being set is no longer chosen", async () => {
  const [first, second] = [
    await makeCarrier(site.db, { name: "gone first", secrets: TEST_SECRETS }),
    await makeCarrier(site.db, { name: "gone next", secrets: TEST_SECRETS }),
  ];
  await using tab = await site.signedIn(olga, "/operator/routes", { statuses: [409] });
  const { page } = tab;
  await page.getByLabel("Prefix").fill("34");
  await page.getByLabel("First carrier").selectOption(first);
  await page.getByLabel("If that fails").selectOption(second);
  await callPosthorn(["carrier", "remove", "gone first"], withDatabase());
  await callPosthorn(["carrier", "remove", "gone next"], withDatabase());
  await page.getByRole("option", { name: "gone next" }).waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Set route" }).click();
  await page.getByText("Choose a carrier.").waitFor();
  await page.getByLabel("First carrier").selectOption("simulator");
  await page.getByRole("button", { name: "Set route" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("button", { name: "Set route" }).click();
  await row(page, "34").getByText("simulator", { exact: true }).waitFor();
});

test("a carrier removed while its settings are open says so, and keeps what was typed", async () => {
  await makeCarrier(site.db, { name: "gone soon", secrets: TEST_SECRETS });
  await using tab = await site.signedIn(olga, "/operator/carriers", { statuses: [404] });
  const { page } = tab;
  const card = page.getByRole("region", { name: "gone soon" });
  await card.getByRole("button", { name: "Settings…" }).click();
  await dialog(page).getByLabel("Segments per second").fill("7");
  await callPosthorn(["carrier", "remove", "gone soon"], withDatabase());

  await dialog(page).getByRole("alert").getByText("This carrier has been removed.").waitFor();
  assert.equal(await dialog(page).getByLabel("Segments per second").inputValue(), "7");
  await card.waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
});

test("a form for routes that cannot read the carriers to choose from says so", async () => {
  await using tab = await site.signedIn(olga, NO_PAGE, { statuses: [0] });
  const { page } = tab;
  await page.route("**/operator/carriers", (route) => route.abort("internetdisconnected"));

  await page.goto(`${site.url}/operator/routes`);

  await page.getByRole("alert").getByRole("button", { name: "Try again" }).waitFor();
  await row(page, "simulator").first().waitFor();
});

test("an operator who is in no account sees the operator's pages, and no others", async () => {
  const lone = await site.person("Lone Wolf", [[account, "viewer"]], true);
  await site.db.query(sql`delete from memberships where user_id = ${lone.userId}`);
  const options = { statuses: [0, 401, 404], isLast: true };
  await using tab = await site.signedIn(lone, "/operator/accounts", options);

  await row(tab.page, "Example").waitFor();
  await tab.context.setOffline(true);
  await tab.page.getByText("You are offline. What you see may be out of date.").waitFor();
  await tab.context.setOffline(false);
  await tab.page.getByText("You are offline").waitFor({ state: "detached" });
  await tab.go("/messages");
  await tab.page.getByRole("heading", { name: "You are not a member of any account" }).waitFor();
  await tab.check("in no account");
  await tab.page.getByRole("link", { name: "Open the operator's pages" }).click();
  await row(tab.page, "Example").waitFor();
  await tab.page.getByRole("button", { name: "User menu of Lone Wolf" }).click();
  await tab.page.getByRole("button", { name: "Sign out" }).click();
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
});
