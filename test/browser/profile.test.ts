import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page, Request } from "playwright-core";
import { sql, systemClock } from "#platform";
import { codeOf } from "../../server/console/sign-in/totp.ts";
import { whileLate } from "../support/faults.ts";
import { NO_PAGE, NOWHERE, type Person, siteOfFile } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";

const { site, account, ada } = await siteOfFile({ isOperator: true });

const dialog = (page: Page) => page.getByRole("dialog");

/** Signs in on the sign-in page. */
async function signIn({ page }: Tab, { email }: Person, password: string): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a password change ends all other sessions, and only the new password signs in", async () => {
  const bob = await site.person("Bob Moog", [[account, "developer"]]);
  await using other = await site.signedIn(bob, "/keys", { statuses: [401, 404] });
  await other.page.getByRole("heading", { name: "API keys" }).waitFor();
  await using tab = await site.signedIn(bob, "/profile", { statuses: [401, 403, 422] });
  const { page } = tab;
  const password = "green lamp 12 harbour";
  site.secrets.set(password, NOWHERE);
  const change = async (current: string) => {
    await page.getByLabel("Current password").fill(current);
    await page.getByLabel("New password").fill(password);
    await page.getByRole("button", { name: "Change password" }).click();
  };

  await change("not my password");
  await page.getByText("This is not your current password.").waitFor();
  await tab.check("wrong password");
  await change(bob.password);
  await page.getByText("Password changed").waitFor();
  await other.page.getByRole("heading", { name: "Sign in" }).waitFor();
  const own = await page.evaluate("fetch('/console/me').then(({ status }) => status)");
  assert.equal(own, 200, "this one goes on");
  await signIn(other, bob, bob.password);
  await other.page.getByText("E-mail or password is wrong.").waitFor();
  await signIn(other, bob, password);
  await other.page.getByRole("heading", { name: "API keys" }).waitFor();
});

test("a second factor is switched on by its code, which works once, as does each recovery code", async () => {
  const carl = await site.person("Carl Orff", [[account, "viewer"]]);
  await using tab = await site.signedIn(carl, "/profile");
  const { page } = tab;
  await page.getByRole("button", { name: "Switch on…" }).click();
  await tab.focusIs("Begin");
  await dialog(page).getByRole("button", { name: "Begin" }).click();
  await dialog(page).getByRole("img", { name: "QR code of the secret" }).waitFor();
  const seed = (await dialog(page).getByLabel("Secret", { exact: true }).textContent()) ?? "";
  site.secrets.set(seed, /second-factor\/enrol$/);
  await tab.check("second factor");
  const code = codeOf(seed, systemClock.now());
  await dialog(page).getByLabel("6-digit code").fill(code);
  await dialog(page).getByRole("button", { name: "Switch on" }).click();
  const shown = (await dialog(page).getByLabel("Recovery codes").textContent()) ?? "";
  const [first = "", second = ""] = shown.split("\n");
  for (const each of shown.split("\n")) site.secrets.set(each, /second-factor\/confirm$/);
  await tab.check("recovery codes");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Close without copying?" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).getByRole("button", { name: "Copy codes" }).click();
  await dialog(page).getByRole("button", { name: "Copied" }).waitFor();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await page.getByText("On. 10 recovery codes left.").waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), shown);

  await using other = await site.tab({ statuses: [401, 403, 404] });
  const give = async (given: string) => {
    await other.page.getByLabel("Code").fill(given);
    await other.page.getByRole("button", { name: "Continue" }).click();
  };
  await other.page.goto(`${site.url}/sign-in`);
  await signIn(other, carl, carl.password);
  await other.page.getByLabel("Code").waitFor();
  await give(code);
  await other.page.getByRole("alert").waitFor();
  await other.check("code used twice");
  await give(first);
  await other.page.getByRole("heading", { name: "Overview" }).waitFor();
  await other.context.clearCookies();
  await other.page.goto(`${site.url}/sign-in`);
  await signIn(other, carl, carl.password);
  await give(first);
  await other.page.getByRole("alert").waitFor();
  await give(second);
  await other.page.getByRole("heading", { name: "Overview" }).waitFor();

  await page.reload();
  await page.getByText("On. 8 recovery codes left.").waitFor();
  await page.getByRole("button", { name: "Switch off…" }).click();
  await dialog(page).getByRole("button", { name: "Switch off…" }).click();
  await page.getByText("The second factor is off").waitFor();
  await other.page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("a proof that expires in a dialog is requested there, and a typed password never shows up in the code field", async () => {
  const fay = await site.person("Fay Wray", [[account, "viewer"]]);
  await using tab = await site.signedIn(fay, "/profile", { statuses: [403] });
  const { page } = tab;
  const outdate = () =>
    site.db.query(sql`
      update sessions set proven_at = proven_at - interval '1 hour' where user_id = ${fay.userId}`);
  await page.getByRole("button", { name: "Switch on…" }).click();
  await dialog(page).getByRole("button", { name: "Begin" }).click();
  const seed = (await dialog(page).getByLabel("Secret", { exact: true }).textContent()) ?? "";
  site.secrets.set(seed, /second-factor\/enrol$/);

  await outdate();
  await dialog(page).getByLabel("6-digit code").fill(codeOf(seed, systemClock.now()));
  await dialog(page).getByRole("button", { name: "Switch on" }).click();
  await dialog(page).getByLabel("Your password").fill(fay.password);
  await tab.check("proof for the second factor");
  await dialog(page).getByRole("button", { name: "Switch on" }).click();
  await dialog(page).getByRole("button", { name: "Copy codes" }).click();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await page.getByText("On. 10 recovery codes left.").waitFor();

  await outdate();
  await page.reload();
  await page.getByRole("button", { name: "Switch off…" }).click();
  await dialog(page).getByLabel("Your password").and(page.locator(":focus")).waitFor();
  await dialog(page).getByLabel("Your password").fill(fay.password);
  await dialog(page).getByRole("button", { name: "Use a code instead" }).click();
  assert.equal(await dialog(page).getByLabel("Code of your second factor").inputValue(), "");
});

test("a proof given in one step of a dialog is not requested again in the next", async () => {
  const gina = await site.person("Gina Lollo", [[account, "viewer"]]);
  await using tab = await site.signedIn(gina, NO_PAGE);
  await site.db.query(sql`
    update sessions set proven_at = proven_at - interval '1 hour' where user_id = ${gina.userId}`);
  const { page } = tab;
  await page.goto(`${site.url}/profile`);
  await page.getByRole("button", { name: "Switch on…" }).click();
  await dialog(page).getByLabel("Your password").fill(gina.password);
  // The answer about who is signed in comes late.
  await page.route("**/console/me", async (route) => {
    await systemClock.sleep(1_000);
    await route.fallback();
  });
  await dialog(page).getByRole("button", { name: "Begin" }).click();
  const secret = dialog(page).getByLabel("Secret", { exact: true });
  site.secrets.set((await secret.textContent()) ?? "", /second-factor\/enrol$/);

  assert.equal(await dialog(page).getByLabel("Your password").count(), 0);
});

test("other sessions can be ended here, and theme, zone and shortcuts are kept in the profile; the choice is visible in forced colours too", async () => {
  const dora = await site.person("Dora Maar", [[account, "viewer"]]);
  await using other = await site.signedIn(dora, "/keys", { statuses: [401, 404] });
  await other.page.getByRole("heading", { name: "API keys" }).waitFor();
  await using tab = await site.signedIn(dora, "/keys");
  const { page } = tab;
  await page.getByRole("button", { name: "User menu of Dora Maar" }).click();
  await page.getByRole("link", { name: "Profile" }).click();
  await page.getByRole("button", { name: /^Sign out Chrome/ }).waitFor();
  await tab.check("profile");

  await page.getByRole("button", { name: /^Sign out Chrome/ }).click();
  await other.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await chooseInMenu(tab, dora);
  for (const choice of ["UTC", "Dark"]) {
    await page.getByLabel(choice).click();
    await page.getByRole("radio", { name: choice, checked: true }).waitFor();
  }
  tab.expect(422);
  const isRead = (request: Request) =>
    request.method() === "GET" && request.url().endsWith("/console/me");
  const read = Promise.withResolvers<void>();
  const hasEnded = Promise.race([
    page.waitForEvent("requestfinished", isRead),
    page.waitForEvent("requestfailed", isRead),
  ]);
  await page.route("**/console/me", async (route) => {
    if (isRead(route.request())) await read.promise;
    await route.fallback();
  });
  await page.getByLabel("Name").fill("Dora \u202E");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The name must not hold characters that change the direction").waitFor();
  assert.equal(await page.getByLabel("Name").getAttribute("aria-invalid"), "true");
  const answer = await holdAnswer(page);
  await page.getByLabel("Single-letter shortcuts").click();
  const unchosen = page.getByLabel("Single-letter shortcuts").and(page.locator(":not(:checked)"));
  await unchosen.waitFor();
  // A read from before the choice must not bring back the former value.
  read.resolve();
  await hasEnded;
  await unchosen.waitFor();
  await page.getByLabel("Name").fill("Dora M");
  await page.getByRole("button", { name: "Save" }).click();
  answer.resolve();
  await page.getByText("Profile saved").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "User menu of Dora M" }).waitFor();
  await page.getByRole("radio", { name: "UTC", checked: true }).waitFor();
  await page.locator("html[data-mantine-color-scheme=dark]").waitFor();
  await page.emulateMedia({ forcedColors: "active" });
  const groundOf = (which: string) =>
    page.evaluate(
      `getComputedStyle(document.querySelector("[type=radio]${which}")).backgroundColor`,
    );
  assert.notEqual(await groundOf(":checked"), await groundOf(":not(:checked)"));
  assert.equal(await page.getByLabel("Single-letter shortcuts").isChecked(), false);
  await page.getByRole("heading", { name: "Profile" }).click();
  await page.keyboard.press("?");
  assert.equal(await dialog(page).count(), 0, "letters do nothing");
});

/** Chooses two themes and leaves before the first is saved: the last wins. Then one fails. */
async function chooseInMenu(tab: Tab, { name }: Person): Promise<void> {
  const { page } = tab;
  const saved = savedTheme(page, "light");
  const menu = page.getByRole("group", { name: "Theme", exact: true });
  const theme = (label: string) => menu.getByRole("button", { name: label });
  await page.getByRole("button", { name: `User menu of ${name}` }).click();
  const answer = await holdAnswer(page);
  await theme("Dark").click();
  await theme("Light").click();
  await page.goBack();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  answer.resolve();
  await saved;
  await page.locator("html[data-mantine-color-scheme=light]").waitFor();
  await page.unroute("**/console/me");

  await page.goForward();
  await page.getByRole("heading", { name: "Profile" }).waitFor();
  tab.expect(0);
  await page.route("**/console/me", (route) =>
    route.request().method() === "PATCH" ? route.abort("internetdisconnected") : route.continue(),
  );
  await theme("System").click();
  await page.getByText("The theme is not saved in your profile").waitFor();
  await page.unroute("**/console/me");
  await page.keyboard.press("Escape");
}

/** Holds every save until the promise is resolved. */
async function holdAnswer(page: Page): Promise<PromiseWithResolvers<void>> {
  const held = Promise.withResolvers<void>();
  await page.route("**/console/me", async (route) => {
    if (route.request().method() === "PATCH") await held.promise;
    await route.fallback();
  });
  return held;
}

function savedTheme(page: Page, theme: string) {
  return page.waitForResponse(
    (response) => response.ok() && response.request().postData()?.includes(theme) === true,
  );
}

test("the default sender is used by the next send, and the low mark colours the credits", async () => {
  await using tab = await site.signedIn(ada, "/keys");
  const { page } = tab;
  await whileLate({ site, tab, link: "Settings" }, async () => {
    await page.getByRole("status", { name: "Loading" }).waitFor();
    await tab.check("settings loading");
  });
  await page.getByText("Times shown in Paris time").waitFor();
  await page.getByLabel("Default sender").fill("Engines");
  await page.getByLabel("Low-credits mark").fill("5000");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Settings saved").waitFor();
  await page.getByRole("link", { name: "1,000 credits. Credits are low" }).waitFor();

  const key = await site.key(account);
  const answer = await fetch(`${site.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ recipient: "4915112345678", text: "Hello" }),
  });
  assert.equal(((await answer.json()) as { sender: string }).sender, "Engines");
});

test("saved settings are shown as they were saved, not as they were typed", async () => {
  await using tab = await site.signedIn(ada, "/settings");
  const { page } = tab;
  const sender = page.getByLabel("Default sender");
  await sender.fill(" +4915112345678");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Settings saved").waitFor();

  await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
  assert.equal(await sender.inputValue(), "4915112345678");
});

test("another user's changes are shown at once, but do not overwrite what is being typed", async () => {
  const mary = await site.person("Mary Shelley", [[account, "owner"]]);
  await using first = await site.signedIn(ada, "/settings");
  await using second = await site.signedIn(mary, "/settings", { statuses: [409] });
  await using idle = await site.signedIn(mary, "/settings");
  for (const { page } of [first, second, idle]) await page.getByLabel("Default sender").waitFor();

  await second.page.getByLabel("Account name").fill("Second");
  await second.page.getByLabel("Default sender").fill("SECOND");
  await first.page.getByLabel("Account name").fill("First");
  await first.page.getByLabel("Low-credits mark").fill("7");
  await first.page.getByRole("button", { name: "Save" }).click();
  await idle.page.getByRole("banner").getByText("First").waitFor();
  await second.page.getByRole("banner").getByText("First").waitFor();
  const name = ({ page }: Tab) => page.getByLabel("Account name").inputValue();
  assert.equal(await name(idle), "First");
  assert.equal(await name(second), "Second");
  await second.page.getByRole("button", { name: "Save" }).click();
  const alert = second.page.getByRole("alert");
  await alert.getByText(/^Someone else has changed the settings, .+ save again\.$/).waitFor();
  await second.page.getByText("Someone else has changed this to First.").waitFor();
  assert.equal(await name(second), "Second");
  await second.check("settings conflict");
  const saved = () =>
    site.db.query<{ name: string }>(sql`
      select name, default_sender, low_credits from accounts where account_id = ${account.accountId}`);
  assert.equal((await saved())[0]?.name, "First");

  await second.page.getByRole("button", { name: "Save" }).click();
  await second.page.getByText("Settings saved").waitFor();
  const merged = { name: "Second", default_sender: "SECOND", low_credits: 7 };
  assert.deepEqual(await saved(), [merged]);
});

test("if the settings cannot be read after a conflict, the page says that it shows the old ones", async () => {
  const own = await site.account({ name: "Conflicts" });
  const zoe = await site.person("Zoe Akins", [[own, "owner"]]);
  await using tab = await site.signedIn(zoe, "/settings", { statuses: [0, 409] });
  const { page } = tab;
  await page.getByLabel("Default sender").fill("MINE");
  const [saving, reading] = [Promise.withResolvers<void>(), "**/console/accounts/*"];
  await page.route(reading, async (route) => {
    if (route.request().method() === "GET") return route.abort("internetdisconnected");
    await saving.promise;
    return route.continue();
  });
  await page.getByRole("button", { name: "Save" }).click();
  await site.db.query(sql`
    update accounts set low_credits = 7, version = version + 1 where account_id = ${own.accountId}`);
  saving.resolve();

  await page
    .getByRole("alert")
    .getByText(/could not be read: .+ shows the old ones\./)
    .waitFor();
  await page.unroute(reading);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("What you typed is still here").waitFor();
  assert.equal(await page.getByLabel("Low-credits mark").inputValue(), "7");
});

test("a member who is not an owner can read the settings, and is told why they cannot be changed", async () => {
  const eve = await site.person("Eve Ensler", [[account, "developer"]]);
  await using tab = await site.signedIn(eve, "/settings");

  await tab.page.getByText(/This needs the owner role; yours is developer/).waitFor();

  assert.equal(await tab.page.getByLabel("Default sender").isEditable(), false);
  await tab.check("settings of others");
});
