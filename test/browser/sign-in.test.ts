import assert from "node:assert/strict";
import { test } from "node:test";
import type { Route } from "playwright-core";
import { sql } from "#platform";
import { siteOfFile } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";

const INSECURE = (port: number | string) => `http://posthorn.test:${port}`;

const { site, account, ada } = await siteOfFile({
  isOperator: true,
  // An origin for which browsers do not say by themselves that a write comes from our own page.
  settings: (port) => ({ PUBLIC_URL: INSECURE(port) }),
});

async function give({ page }: Tab, email: string, password: string): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("password managers know the fields; unknown e-mail and wrong password look the same and focus the password; repeated guesses wait with a countdown", async () => {
  await using tab = await site.tab({ statuses: [401, 404, 429] });
  await tab.page.goto(`${site.url}/sign-in`);
  await tab.page.getByLabel("E-mail").waitFor();
  await tab.check("sign-in");
  await tab.page.getByLabel("E-mail").and(tab.page.locator("[autocomplete=username]")).waitFor();
  await tab.page.locator("[name=password][autocomplete=current-password]").waitFor();

  const texts: string[] = [];
  for (const email of ["nobody@example.com", ada.email]) {
    await give(tab, email, "a wrong password");
    await tab.page.getByRole("alert").waitFor();
    texts.push(await tab.page.getByRole("alert").innerText());
    await tab.page.locator("[name=password]:focus").waitFor();
  }

  assert.equal(texts[0], "E-mail or password is wrong.");
  assert.equal(texts[1], texts[0]);
  await tab.check("wrong password");

  for (let tries = 2; tries <= 5; tries += 1) await guess("nobody@example.com");
  await give(tab, "nobody@example.com", "a wrong password");
  const wait = tab.page.getByRole("alert").getByText(/^Wait \d+ seconds\.$/);
  const first = await wait.innerText();
  await tab.page.getByText(first, { exact: true }).waitFor({ state: "detached" });
  assert.ok(secondsOf(await wait.innerText()) < secondsOf(first));
});

const secondsOf = (wait: string) => Number(/\d+/.exec(wait)?.[0]);

async function guess(email: string): Promise<void> {
  const answer = await fetch(`${site.url}/console/auth/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: INSECURE(new URL(site.url).port) },
    body: JSON.stringify({ email, password: "a wrong password" }),
  });
  assert.equal(answer.status, 401);
}

test("over plain http sign-in warns and a key can still be copied; if that fails it is selected and closing still asks", async () => {
  const url = INSECURE(new URL(site.url).port);
  const plain = await site.account({ name: "Plain" });
  const owner = await site.person("Plain Owner", [[plain, "owner"]]);
  await using tab = await site.tab({ url, statuses: [401, 404] });
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await page.goto(`${url}/keys`);
  await page.getByText("This connection is not encrypted").waitFor();
  await tab.check("plain http");
  await give(tab, owner.email, owner.password);
  await page.getByRole("button", { name: "Create key" }).first().click();
  await dialog.getByLabel("Name").fill("Insecure");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const key = (await page.getByTestId("shown-key").textContent()) ?? "";
  site.secrets.set(key, /^POST \/console\/accounts\/[^/]+\/keys$/);
  assert.equal(await page.evaluate("navigator.clipboard"), undefined);

  await page.evaluate("void (document.execCommand = () => false)");
  await dialog.getByRole("button", { name: "Copy key" }).click();
  await dialog.getByRole("button", { name: "Press Ctrl+C" }).waitFor();
  assert.equal(await page.evaluate("getSelection().toString()"), key);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Go back" }).click();
  await page.evaluate("void delete document.execCommand");
  await dialog.getByRole("button", { name: "Press Ctrl+C" }).click();
  await dialog.getByRole("button", { name: "Copied" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Create key" }).first().click();
  await dialog.getByLabel("Name").focus();
  await page.keyboard.press("ControlOrMeta+v");
  assert.equal(await dialog.getByLabel("Name").inputValue(), key);
});

test("signing in leads to the requested page, never to another site; no ended session is mentioned if there was none", async () => {
  await using tab = await site.tab({ statuses: [401, 404] });

  await tab.page.goto(`${site.url}/messages?status=SENT`);
  await tab.page.getByLabel("E-mail").waitFor();
  assert.equal(await tab.page.getByText("Your session has ended.").count(), 0);
  await give(tab, ada.email, ada.password);
  await tab.page.getByRole("heading", { name: "Messages", level: 1 }).waitFor();
  assert.equal(tab.page.url(), `${site.url}/messages?status=SENT`);

  await tab.page.goto(`${site.url}/sign-in?next=//elsewhere.example/`);
  await tab.page.getByText("You are signed in as Ada Lovelace.").waitFor();
  assert.equal(tab.page.url(), `${site.url}/sign-in`);
});

test("after signing out, Back shows nothing private", async () => {
  await using tab = await site.signedIn(ada, "/keys", { statuses: [401, 404] });
  await tab.page.getByRole("link", { name: "Team" }).click();
  await tab.page.getByRole("cell", { name: ada.email }).waitFor();

  await tab.page.getByRole("button", { name: "User menu of Ada Lovelace" }).click();
  await tab.page.getByRole("button", { name: "Sign out" }).click();
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await tab.page.goBack();
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();

  assert.ok(!(await tab.page.content()).includes(ada.email));
});

test("signing out of an ended session leaves no draft to the next user", async () => {
  const eve = await site.person("Eve Adams", [[account, "developer"]]);
  await using tab = await site.signedIn(eve, "/compose", { statuses: [401, 404] });
  await tab.page.getByLabel("Text").fill("Private");
  // Not earlier: the page would notice by itself, and go to sign-in.
  await tab.page.route("**/auth/sign-out", async (route) => {
    await site.db.query(sql`delete from sessions where user_id = ${eve.userId}`);
    await route.continue();
  });

  await tab.page.getByRole("button", { name: "User menu of Eve Adams" }).click();
  await tab.page.getByRole("button", { name: "Sign out" }).click();
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await give(tab, ada.email, ada.password);
  await tab.page.getByRole("link", { name: "Compose" }).first().click();

  assert.equal(await tab.page.getByLabel("Text").inputValue(), "");
});

test("a session that ends while a form is filled in says so and keeps what was typed", async () => {
  const bob = await site.person("Bob Moog", [[account, "developer"]]);
  await using tab = await site.signedIn(bob, "/compose", { statuses: [401, 404] });
  await tab.page.getByLabel("Recipient").fill("4915112345678");
  await tab.page.getByLabel("Text").fill("Half a thou");
  await tab.page.getByRole("button", { name: /Send for/ }).waitFor();

  // Not earlier: the page would notice by itself, and go to sign-in.
  const endSession = async (route: Route) => {
    await site.db.query(sql`delete from sessions where user_id = ${bob.userId}`);
    await route.continue();
  };
  await tab.page.route("**/messages/preview", endSession, { times: 1 });
  await tab.page.getByLabel("Text").fill("Half a thought");
  await tab.page.getByText("Your session has ended.").waitFor();
  await give(tab, bob.email, bob.password);

  await tab.page.getByRole("heading", { name: "Compose" }).waitFor();
  assert.equal(await tab.page.getByLabel("Text").inputValue(), "Half a thought");
  assert.equal(await tab.page.getByLabel("Recipient").inputValue(), "4915112345678");
});

test("the end of a session loses nothing typed in any form; closing the form discards it", async () => {
  const nina = await site.person("Nina Sky", [[account, "owner"]], true);
  await using tab = await site.signedIn(nina, "/", { statuses: [401, 404] });
  const { page } = tab;
  const forms = [
    { path: "/settings", label: "Default sender", typed: "Half" },
    { path: "/profile", label: "Name", typed: "Nina S" },
    { path: "/operator/prices", label: "Prefix", typed: "49" },
    { path: "/operator/routes", label: "Prefix", typed: "49" },
    { path: "/team", open: "Invite someone", label: "For whom", typed: "Half" },
    { path: "/webhooks?dialog=test", label: "Address", typed: "https://half" },
    { path: "/operator/accounts", open: "Create account", label: "Name", typed: "Half" },
    { path: "/operator/accounts", open: `Top up ${account.name}`, label: "Note", typed: "Half" },
  ];
  for (const { path, open, label, typed } of forms) {
    const show = async () => {
      if (open) await page.getByRole("button", { name: open }).click();
      return page.getByRole("textbox", { name: new RegExp(`^${label}`) });
    };
    await tab.go(path);
    await (await show()).fill(typed);
    await site.db.query(sql`delete from sessions where user_id = ${nina.userId}`);
    await page.getByText("Your session has ended.").waitFor();
    await give(tab, nina.email, nina.password);

    const field = await show();
    await field.waitFor();
    assert.equal(await field.inputValue(), typed, path);
    await tab.go("/keys");
    await tab.go(path);
    assert.notEqual(await (await show()).inputValue(), typed, `${path} after it was left`);
    await tab.go("/keys");
  }
});

test("typed drafts never appear in another account, and are deleted when another user signs in", async () => {
  const second = await site.account({ name: "Second" });
  const carol = await site.person("Carol Shaw", [
    [account, "developer"],
    [second, "developer"],
  ]);
  const compose = (of: typeof account) => `/compose?account=${of.accountId}`;
  await using tab = await site.signedIn(carol, compose(account), { statuses: [401, 404] });
  const { page } = tab;
  const text = page.getByLabel("Text");
  await text.fill("Private");

  const show = async (of: typeof account) => {
    await tab.go(compose(of));
    await page.getByRole("button", { name: `Switch account: ${of.name}` }).waitFor();
  };
  await show(second);
  assert.equal(await text.inputValue(), "", "in the other account");
  await show(account);
  assert.equal(await text.inputValue(), "Private", "back in the first");
  await tab.context.clearCookies();
  await page.reload();
  await give(tab, ada.email, ada.password);

  assert.equal(await text.inputValue(), "", "for another user");
  assert.ok(!(await page.evaluate<string>("JSON.stringify(sessionStorage)")).includes("Private"));
});

test("an address of another's account says so, and links to one's own", async () => {
  const other = await site.account({ name: "Strangers" });
  await using tab = await site.signedIn(ada, `/keys?account=${other.accountId}`);

  await tab.page.getByRole("heading", { name: "No such account" }).waitFor();

  await tab.check("no such account");
  await tab.page.getByRole("link", { name: "Open my account" }).click();
  await tab.page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.equal(tab.page.url(), `${site.url}/`);
});

test("a user without an account is told whom to ask, and can sign out there", async () => {
  const nobody = await site.person("No Body", [[account, "viewer"]]);
  await site.db.query(sql`delete from memberships where user_id = ${nobody.userId}`);
  const path = `/keys?account=${account.accountId}`;
  await using tab = await site.signedIn(nobody, path, { statuses: [401, 404] });

  await tab.page.getByRole("heading", { name: "No such account" }).waitFor();
  await tab.page.getByText(/Ask an owner for an invitation link/).waitFor();
  await tab.page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("on a narrow phone every header button is visible, and on a tablet whole, and every account can be reached", async () => {
  const rich = await site.account({
    name: "Acme Trading with a name of sixty characters, as long as can",
    credits: 50_856,
  });
  const others = await Promise.all(
    Array.from({ length: 30 }, (_, n) => site.account({ name: `Account ${n}`, credits: 0 })),
  );
  const many = await site.person("Many Hats", [
    [rich, "owner"],
    ...others.map((other): [typeof other, "viewer"] => [other, "viewer"]),
  ]);
  await using tab = await site.signedIn(many, `/keys?account=${rich.accountId}`, { isPhone: true });
  const { page } = tab;
  const header = page.getByRole("banner");
  const switcher = header.getByRole("button", { name: /Switch account/ });
  await switcher.waitFor();

  for (const width of [320, 360]) {
    await page.setViewportSize({ width, height: 740 });
    for (const each of await header.locator("button:visible, a:visible").all()) {
      const box = await each.boundingBox();
      assert.ok(
        box && box.x >= 0 && box.x + box.width <= width,
        `${width}: ${await each.innerText()}`,
      );
    }
    await switcher.click();
    const list = await page.locator("[popover]:popover-open").boundingBox();
    assert.ok(list && list.x >= 0 && list.x + list.width <= width && list.y + list.height <= 740);
    await tab.picture(`accounts at ${width}`);
    await page.keyboard.press("Escape");
  }
  const search = header.getByRole("button", { name: /^Search/ });
  await page.setViewportSize({ width: 1280, height: 740 });
  await search.getByText("Ctrl K").waitFor();
  const whole = await search.boundingBox();
  await page.setViewportSize({ width: 768, height: 740 });
  assert.equal((await search.boundingBox())?.width, whole?.width, "a long name leaves it whole");
  await page.setViewportSize({ width: 360, height: 740 });
  await switcher.click();
  await page.getByRole("link", { name: others.at(-1)?.name ?? "", exact: true }).click();
  await header.getByRole("button", { name: `Switch account: ${others.at(-1)?.name}` }).waitFor();
});

test("with two accounts the address names the one shown", async () => {
  const second = await site.account({ name: "Second" });
  const both = await site.person("Two Hats", [
    [account, "owner"],
    [second, "viewer"],
  ]);
  await using tab = await site.signedIn(both, "/keys", { statuses: [401, 404] });

  await tab.page.getByRole("button", { name: /Switch account/ }).waitFor();
  assert.match(tab.page.url(), /\?account=/);
  await tab.page.getByRole("button", { name: /Switch account/ }).click();
  await tab.page.getByRole("link", { name: "Second" }).click();
  await tab.page.getByRole("button", { name: "Switch account: Second" }).waitFor();

  assert.equal(new URL(tab.page.url()).searchParams.get("account"), second.accountId);
  await tab.page.getByRole("button", { name: "Switch account: Second" }).click();
  const marked = tab.page.locator("[popover]:popover-open a[aria-current]:has(svg)");
  assert.deepEqual(
    await marked.allInnerTexts(),
    ["Second"],
    "the list marks the one that is shown",
  );
  await tab.go(`/nowhere?account=${second.accountId}`);
  await tab.page.getByRole("heading", { name: "Page not found" }).waitFor();
  await tab.check("not found");
  await tab.page.getByRole("main").getByRole("button", { name: "Search…" }).click();
  await tab.page.getByRole("textbox", { name: "Search pages, actions and messages" }).waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByRole("dialog").waitFor({ state: "detached" });
  await tab.page.getByRole("link", { name: "Go to the overview" }).click();
  await tab.page.getByRole("button", { name: "Switch account: Second" }).waitFor();

  await site.db.query(sql`delete from sessions where user_id = ${both.userId}`);
  const wanted = `/messages?account=${second.accountId}&status=FAILED`;
  await tab.page.goto(`${site.url}${wanted}`);
  await give(tab, both.email, both.password);
  await tab.page.getByRole("heading", { name: "Messages", level: 1 }).waitFor();
  assert.equal(tab.page.url(), `${site.url}${wanted}`, "also after signing in again");
});

test("a short outage or a renewed cookie loses neither the page nor typed text; during a longer one the page says since when, and after it reads what failed", async () => {
  const options = { statuses: [0, 401, 404], isLast: true };
  await using tab = await site.signedIn(ada, "/settings", options);
  const { page } = tab;
  await page.getByLabel("Account name").fill("Half a na");
  const isMissed = page.waitForEvent("requestfailed", (request) =>
    request.url().includes("/assets/"),
  );

  await tab.context.setOffline(true);
  await page.getByRole("link", { name: "Credits", exact: true }).hover();
  await isMissed;
  assert.equal(await page.getByLabel("Account name").inputValue(), "Half a na");
  await tab.context.setOffline(false);
  await page.getByRole("link", { name: "Credits", exact: true }).click();

  await page.getByRole("heading", { name: "Credits", level: 1 }).waitFor();
  // As if this request had been sent with the previous cookie.
  const refusal = {
    status: 401,
    json: { error: { code: "SESSION_REQUIRED", message: "Sign in." } },
  };
  await page.route(/\/keys(\?|$)/, (route) => route.fulfill(refusal), { times: 1 });
  await page.getByRole("link", { name: "API keys", exact: true }).click();
  await page.getByText("Create your first key").waitFor();

  await page.clock.install();
  await page.route("**/stream", (route) => route.abort("internetdisconnected"));
  await page.reload();
  await page.getByText("Live updates off: refreshing every 10 seconds").waitFor();
  await page.route("**/console/**", (route) => route.abort("internetdisconnected"));
  await page.clock.runFor(12_000);
  await page.getByText(/^Posthorn is not responding\. What you see is from .+\d; trying/).waitFor();
  await tab.check("away");
  await page.unroute("**/console/**");
  await page.clock.runFor(12_000);
  await page.getByText("Live updates off: refreshing every 10 seconds").waitFor();

  await page.route("**/console/**", (route) => route.abort("internetdisconnected"));
  await page.clock.runFor(12_000);
  const failure = page.getByRole("alert").getByText("No answer came");
  await failure.waitFor();
  // As a stream that is resumed after nothing has changed.
  const quiet = { contentType: "text/event-stream", body: "retry: 100\n\n" };
  await page.route("**/stream", (route) => route.fulfill(quiet));
  await page.unroute("**/console/**");
  await failure.waitFor({ state: "detached" });
});
