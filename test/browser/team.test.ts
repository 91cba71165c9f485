import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { MemberRole } from "#contract";
import { sql } from "#platform";
import { tryAgain, whileLate, withoutColumn } from "../support/faults.ts";
import { sendUnanswered } from "../support/lost-answer.ts";
import { copyAndClose, shownLink } from "../support/shown-once.ts";
import { NO_PAGE, NOWHERE, siteOfFile } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";
import { until } from "../support/until.ts";

const { site, account, ada } = await siteOfFile();
// Without an operator, the installation redirects to setup instead of sign-in.
await site.person("Olga Operator", [[await site.account({ name: "Operations" }), "owner"]], true);

const dialog = (page: Page) => page.getByRole("dialog");
const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

/** The only answer that may contain the link. */
const INVITED = /^POST \/console\/accounts\/[^/]+\/invitations$/;

/** Invites by the form; returns the link that the page shows. */
async function invite(tab: Tab, role: string, forWhom = ""): Promise<string> {
  await tab.page.getByRole("button", { name: "Invite someone" }).click();
  await dialog(tab.page).getByLabel(role).check();
  await dialog(tab.page).getByLabel("For whom").fill(forWhom);
  await dialog(tab.page).getByRole("button", { name: "Create link" }).click();
  return shownLink(site, tab, { label: "Invitation link", answer: INVITED });
}

type Asked = { status: number; code: string | undefined };

/** Asks from within the page, with its cookie. */
function ask({ page }: Tab, method: string, path: string, body?: object): Promise<Asked> {
  const init = { method, headers: { "content-type": "application/json" } };
  return page.evaluate<Asked>(`fetch(
    "/console/accounts/${account.accountId}${path}",
    { ...${JSON.stringify(init)}, body: ${body ? `'${JSON.stringify(body)}'` : "undefined"} },
  ).then(async (answer) => ({
    status: answer.status,
    code: (await answer.json().catch(() => ({}))).error?.code,
  }))`);
}

test("an invitation is a link shown once; on a phone it adds a member with its role, once", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  await whileLate({ site, tab, link: "Team" }, async () => {
    await page.getByRole("status", { name: "Loading" }).locator("div").first().waitFor();
  });
  await page.getByText("Only you", { exact: true }).waitFor();
  await tab.check("only you");

  const link = await invite(tab, "Viewer", "Grace");
  await tab.check("link");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Close without copying?" }).waitFor();
  await page.keyboard.press("Escape");
  await copyAndClose(tab, "Copy link");
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), link);
  await page.getByRole("button", { name: "Withdraw the invitation of Grace as Viewer" }).waitFor();
  assert.equal(await page.getByText("Only you").count(), 0, "who is invited is asked for no more");
  await tab.check("invitation");

  await using phone = await site.tab({ isPhone: true, statuses: [401] });
  await phone.page.goto(link);
  await phone.page
    .getByText(
      "Ada Lovelace invites you to the account Example as viewer. The link is meant for Grace.",
    )
    .waitFor();
  assert.equal(phone.page.url(), `${site.url}/join`);
  await phone.check("join");
  const password = "violet tram 88 ladder";
  site.secrets.set(password, NOWHERE);
  await phone.page.getByLabel("Your name").fill("Grace Hopper");
  await phone.page.getByLabel("E-mail").fill("grace@example.com");
  await phone.page.getByLabel("Password *", { exact: true }).fill(password);
  await phone.page.getByRole("button", { name: "Join" }).click();
  await phone.page.getByRole("heading", { name: "Overview" }).waitFor();
  await row(page, "grace@example.com").getByText("Viewer").waitFor();
  await page.getByRole("heading", { name: "Open invitations" }).waitFor({ state: "detached" });

  await using again = await site.tab({ statuses: [401, 404] });
  await again.page.goto(link);
  await again.page.getByText("This link has already been used; it works only once.").waitFor();
  await again.check("link used");
});

test("an invitation form resubmitted because its answer was lost creates no second link", async () => {
  const shop = await site.account({ name: "Lossy" });
  const owner = await site.person("Patient Owner", [[shop, "owner"]]);
  await using tab = await site.signedIn(owner, "/team", { statuses: [0, 409] });
  const { page } = tab;
  await page.getByRole("button", { name: "Invite someone" }).click();
  const submit = dialog(page).getByRole("button", { name: "Create link" });
  await sendUnanswered(page, submit, "**/invitations");

  await submit.click();
  await dialog(page).getByText("This form has already created its link").waitFor();

  const links = await site.db.query(sql`
    select kind from links where account_id = ${shop.accountId}`);
  assert.deepEqual(links, [{ kind: "invitation" }]);
});

test("a signed-in user can sign out to use a link as another; a withdrawn or expired link says so, and so does withdrawing it too late", async () => {
  await using tab = await site.signedIn(ada, "/team");
  const withdrawn = await invite(tab, "Developer");
  await copyAndClose(tab, "Copy link");
  const someone = await site.person("Some One", [[account, "viewer"]]);
  await using other = await site.signedIn(someone, NO_PAGE, { statuses: [401, 404] });
  await other.page.goto(withdrawn);
  await other.page.getByRole("button", { name: "Not Some One? Sign out" }).click();
  await other.page.getByLabel("Your name").and(other.page.locator(":focus")).waitFor();
  assert.equal(other.page.url(), `${site.url}/join`);
  await tab.page.getByRole("button", { name: "Withdraw the invitation as Developer" }).click();
  await tab.check("withdraw an invitation");
  await tab.page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await tab.page.getByText("Invitation withdrawn").waitFor();
  await tab.page.getByRole("heading", { name: "Open invitations" }).waitFor({ state: "detached" });
  await tab.page.locator("#main:focus").waitFor();
  const expired = await invite(tab, "Owner");
  await copyAndClose(tab, "Copy link");
  await site.db.query(sql`
    update links set expires_at = now() - interval '1 second' where kind = 'invitation' and role = 'owner' and account_id = ${account.accountId}`);

  await other.page.goto(expired);
  await other.page.getByText("This link has expired.").waitFor();
  await other.page.goto(withdrawn);
  await other.page.getByText("This link was withdrawn.").waitFor();

  await invite(tab, "Viewer");
  await copyAndClose(tab, "Copy link");
  await tab.page.getByRole("button", { name: "Withdraw the invitation as Viewer" }).click();
  tab.expect(404);
  await tab.page.evaluate(`fetch("/console/accounts/${account.accountId}/invitations")
    .then((answer) => answer.json())
    .then(({ data }) => Promise.all(data.map(({ invitationId }) =>
      fetch("/console/accounts/${account.accountId}/invitations/" + invitationId, { method: "DELETE" }))))`);
  await tab.page.getByText("Open invitations").waitFor({ state: "detached" });
  await dialog(tab.page).getByRole("button", { name: "Withdraw" }).click();
  await dialog(tab.page).getByRole("alert").waitFor();
});

test("a removed member's open page leads to sign-in, and the next request is refused", async () => {
  const bob = await site.person("Bob Moog", [[account, "developer"]]);
  await using tab = await site.signedIn(ada, "/team");
  await using his = await site.signedIn(bob, "/keys", { statuses: [401, 404] });
  await his.page.getByRole("heading", { name: "API keys" }).waitFor();

  await tab.page.getByRole("button", { name: "Remove Bob Moog" }).click();
  await dialog(tab.page).getByText("Keys that they created keep working.").waitFor();
  await tab.check("remove");
  await dialog(tab.page).getByRole("button", { name: "Remove" }).click();
  await row(tab.page, bob.email).waitFor({ state: "detached" });
  await tab.page.getByText("Bob Moog was removed").waitFor();

  assert.deepEqual(await ask(his, "GET", "/keys"), { status: 401, code: "SESSION_REQUIRED" });
  await his.page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("the last owner cannot be demoted or removed, nor leave", async () => {
  await using tab = await site.signedIn(ada, "/team", { statuses: [409] });
  const leave = tab.page.getByRole("button", { name: "Leave account", disabled: true });
  await leave.focus();

  await tab.page.getByText("Make someone else an owner first.").waitFor();
  await tab.check("last owner");
  const path = `/members/${ada.userId}`;
  const refused = { status: 409, code: "LAST_OWNER" };
  assert.deepEqual(await ask(tab, "POST", "/leave"), refused);
  assert.deepEqual(await ask(tab, "PATCH", path, { version: 1, role: "viewer" }), refused);
  assert.deepEqual(await ask(tab, "DELETE", path), refused);
});

test("the second of two owners changing one member is told so, then sees the first one's change; keeping a role ends no session", async () => {
  const mary = await site.person("Mary Shelley", [[account, "owner"]]);
  const carl = await site.person("Carl Orff", [[account, "viewer"]]);
  await using first = await site.signedIn(ada, "/team");
  await using second = await site.signedIn(mary, "/team", { statuses: [409] });
  for (const { page } of [first, second]) {
    await page.getByRole("button", { name: "Change role of Carl Orff" }).click();
    await dialog(page).getByLabel("Developer").check();
  }
  const change = ({ page }: Tab) =>
    dialog(page).getByRole("button", { name: "Change role" }).click();

  await change(first);
  await first.page.getByText("Carl Orff is now Developer").waitFor();
  await change(second);

  await dialog(second.page)
    .getByText(/Someone else has changed this in the meantime/)
    .waitFor();
  await second.check("conflict");
  await second.page.keyboard.press("Escape");
  await row(second.page, carl.email).getByText("Developer").waitFor();
  await second.page.getByRole("button", { name: "Change role of Carl Orff" }).click();
  await dialog(second.page).getByLabel("Owner").check();
  await change(second);
  await row(second.page, carl.email).getByText("Owner").waitFor();
  await second.page.getByRole("button", { name: "Change role of Carl Orff" }).click();
  await change(second);
  await dialog(second.page).waitFor({ state: "detached" });
  const changes = second.requests.filter((request) => request.startsWith("PATCH "));
  assert.equal(changes.length, 2);
});

test("a member who is not an owner sees the team, with every button disabled and saying why", async () => {
  const eve = await site.person("Eve Ensler", [[account, "developer"]]);
  await using tab = await site.signedIn(eve, "/team", { statuses: [403] });
  const buttons = ["Invite someone", "Change role of Ada Lovelace", "Remove Ada Lovelace"];
  for (const name of buttons) {
    const tooltip = tab.page.getByRole("tooltip", { name: /This needs the owner role/ });
    await tab.page.getByRole("button", { name }).focus();
    await tooltip.waitFor();
    await tab.page.keyboard.press("Enter");
    assert.equal(await dialog(tab.page).count(), 0, name);
    // Otherwise it may still be fading out when the next one appears.
    await tab.page.getByRole("button", { name }).blur();
    await tooltip.waitFor({ state: "detached" });
  }
  await tab.check("not an owner");

  const role: MemberRole = "viewer";
  const denied = { status: 403, code: "ROLE_DENIED" };
  const path = `/members/${ada.userId}`;
  assert.deepEqual(await ask(tab, "POST", "/invitations", { role }), denied);
  assert.deepEqual(await ask(tab, "PATCH", path, { version: 1, role }), denied);
  assert.deepEqual(await ask(tab, "DELETE", path), denied);
});

test("names of sixty letters without a space do not widen any table", async () => {
  const name = "Wolfeschlegelsteinhausenbergerdorffwelchevoralternwarengewissenhaft".slice(0, 60);
  const long = await site.account({ name });
  const wolfe = await site.person(name, [[long, "owner"]], true);
  await site.person(`${name.slice(0, 58)} b`, [[long, "viewer"]]);
  const made = await site.key(long, { name: "Key of the web shop, Hamburg 2" });
  await site.db.query(sql`
    update keys set created_at = now() - interval '90 days', expires_at = now() + interval '6 days'
     where account_id = ${long.accountId}`);
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  await site.send(made, { recipient: "4915112345678", text: "Later", sendAt });
  await using tab = await site.signedIn(wolfe, "/profile");
  const { page } = tab;
  await page.evaluate(`fetch("/console/accounts/${long.accountId}/keys", {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "${name}", scopes: ["messages:send", "messages:read"] }) })`);
  const tables = {
    team: "Members",
    keys: "API keys",
    messages: "Messages",
    "operator/accounts": "Accounts",
    "operator/users": "Users",
    "operator/queue": "Waiting by account",
    "operator/audit": "Audit log",
  };

  for (const [path, label] of Object.entries(tables)) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await tab.go(`/${path}`);
    await page.getByRole("region", { name: label, exact: true }).getByRole("row").nth(1).waitFor();
    for (const width of [1280, 1024]) {
      await page.setViewportSize({ width, height: 800 });
      assert.deepEqual(await page.evaluate(WIDER), [], `/${path} on ${width} pixels`);
      await tab.picture(`long names, ${path}, ${width}`);
    }
    await page.setViewportSize({ width: 320, height: 740 });
    await page.locator("main li[data-row]").first().waitFor();
    assert.deepEqual(await page.evaluate(WIDER), [], `/${path} on a narrow phone`);
    await tab.picture(`long names, ${path}, phone`);
  }
  await tab.go("/operator/users");
  const label = page.getByRole("listitem").filter({ hasText: name }).getByText("Accounts:").first();
  await label.waitFor();
  const lines = await label.evaluate(({ firstChild, ownerDocument }) => {
    const words = ownerDocument.createRange();
    if (firstChild) words.selectNode(firstChild);
    return words.getClientRects().length;
  });
  assert.equal(lines, 1, "a long value leaves its label whole");
});

/** Elements wider than their container: the page, or a table in its frame. */
const WIDER = `[document.documentElement, ...document.querySelectorAll("main section[tabindex]")]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((each) => (each.ariaLabel ?? "page") + " by " + (each.scrollWidth - each.clientWidth))`;

test("members and invitations beyond a page can be reached, each list by its own pages", async () => {
  const crowd = await site.account({ name: "Crowd" });
  const owner = await site.person("Owner of many", [[crowd, "owner"]]);
  await site.db.query(sql`
    with made as (
      insert into users (user_id, email, name, password, created_at)
      select id_floor('2020-01-01'::timestamptz + n * interval '1 day'), n || '@crowd.example.com', 'Member ' || n, '', now()
        from generate_series(1, 30) n
      returning user_id
    )
    insert into memberships (account_id, user_id, role, joined_at)
    select ${crowd.accountId}, user_id, 'viewer', now() from made`);
  await site.db.query(sql`
    insert into links (link_id, kind, token_hash, created_at, created_by, expires_at, account_id, role, for_whom)
    select id_floor(now() - n * interval '1 day'), 'invitation', sha256(('crowd' || n)::bytea), now(), 'cli',
           now() + interval '1 day', ${crowd.accountId}, 'viewer', 'Guest ' || n
      from generate_series(1, 30) n`);
  await using tab = await site.signedIn(owner, "/team", { statuses: [400] });
  const { page } = tab;
  const pages = (name: string) => page.getByRole("navigation", { name, exact: true });
  await page.getByText("30@crowd.example.com").waitFor();
  await page.getByText("Guest 1", { exact: true }).waitFor();
  await tab.check("many");

  await pages("Pages of the members").getByRole("button", { name: "Older" }).click();
  await page.getByText("1@crowd.example.com", { exact: true }).waitFor();
  await page.getByText("Guest 1", { exact: true }).waitFor();
  await pages("Pages of the open invitations").getByRole("button", { name: "Older" }).click();
  await page.getByText("Guest 30").waitFor();
  await page.getByText("1@crowd.example.com", { exact: true }).waitFor();
  await page.goBack();
  await page.getByText("Guest 1", { exact: true }).waitFor();
  await pages("Pages of the open invitations").getByLabel("Rows per page").selectOption("50");
  await page.getByText("Guest 30").waitFor();
  await tab.go("/team?cursor=damaged&invitationsCursor=damaged");
  await page.getByText("30@crowd.example.com").waitFor();
  await page.getByText("Guest 1", { exact: true }).waitFor();
});

test("a failure shows the request's id, and trying again continues", async () => {
  await using tab = await site.signedIn(ada, "/keys", { statuses: [500] });
  await withoutColumn(site.db, "memberships.joined_at", async () => {
    await tab.page.getByRole("link", { name: "Team" }).click();
    await tab.page.getByRole("alert").getByRole("button", { name: "Try again" }).waitFor();
    // Here, because later the page may ask by itself, when its stream reconnects.
    const before = asked(tab);
    await tab.page.getByRole("button", { name: "Try again" }).click();
    await until("the members are asked for again", () => asked(tab) > before);
  });

  await tryAgain(tab.page, row(tab.page, ada.email));
});

function asked({ requests }: Tab): number {
  return requests.filter((request) => /^GET .*\/members/.test(request)).length;
}
