import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "#platform";
import { type Site, startSite } from "../support/site.ts";

let site: Site;
before(async () => (site = await startSite()));
after(() => site[Symbol.asyncDispose]());

const PASSWORD = "violet tram 88 ladder";

function tokenOf(link: string): string {
  return link.split("#token=")[1] ?? "";
}

/** The link as printed in the terminal. */
function setupLink(): string {
  return /http\S+\/setup#token=\S+/.exec(site.service.output())?.[0] ?? "";
}

test("on a fresh server every path leads to set-up, which says where to find the link", async () => {
  await using tab = await site.tab({ statuses: [401] });

  await tab.page.goto(`${site.url}/keys?state=active`);
  await tab.page.getByText("Open the link from the terminal").waitFor();

  assert.equal(new URL(tab.page.url()).pathname, "/setup");
  await tab.check("no link");
});

test("a wrong token says so and nothing else", async () => {
  await using tab = await site.tab({ statuses: [404] });

  await tab.page.goto(`${site.url}/setup#token=wrong`);
  await tab.page.getByText("This link does not work").waitFor();

  assert.equal(await tab.page.getByRole("textbox").count(), 0);
  await tab.check("wrong link");
});

test("an e-mail already in use is reported at its field, and the form returns to it", async () => {
  const { email } = await site.person("Grace Hopper", [[await site.account(), "owner"]]);
  await using tab = await site.tab({ statuses: [401, 409] });
  const { page } = tab;

  await page.goto(setupLink());
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password *", { exact: true }).fill(PASSWORD);
  await page.keyboard.press("Enter");
  await page.getByLabel("Account name").fill("Analytical Engines");
  await page.keyboard.press("Enter");
  await page.getByText("There is already a user with this e-mail. Use another one.").waitFor();

  await page.getByLabel("E-mail").and(page.locator("[aria-invalid=true]:focus")).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0, "nor is it told elsewhere");
  await tab.check("e-mail taken");
});

test("two tabs that finish at once create exactly one operator, and the token is in no address or log", async () => {
  site.secrets.set(PASSWORD, /(?!)/);
  site.secrets.set(tokenOf(setupLink()), /(?!)/);
  await using first = await site.tab({ statuses: [404, 409] });
  await using second = await site.tab({ statuses: [404, 409] });

  for (const { page } of [first, second]) {
    await page.goto(setupLink());
    await page.getByLabel("Your name").waitFor();
    assert.equal(page.url(), `${site.url}/setup`);
  }
  await first.check("operator");
  await first.page.getByRole("button", { name: "Next" }).click();
  await first.page.getByText("Enter a name.").waitFor();
  await first.page.locator("[name=name]:focus").waitFor();
  for (const { page } of [first, second]) {
    await page.getByLabel("Your name").fill("Ada Lovelace");
    await page.getByLabel("E-mail").fill("ada@example.com");
    await page.getByLabel("Password *", { exact: true }).fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByLabel("Account name").fill("Analytical Engines");
  }
  await first.check("account");
  await Promise.all([first.page.keyboard.press("Enter"), second.page.keyboard.press("Enter")]);
  const winner = await Promise.any(
    [first, second].map(async (tab) => {
      await tab.page.getByRole("heading", { name: "Overview" }).waitFor();
      return tab;
    }),
  );

  const loser = winner === first ? second : first;
  await loser.page.getByText(/Posthorn is already set up|This link does not work/).waitFor();
  assert.deepEqual(await site.db.query(sql`select email from users where is_operator`), [
    { email: "ada@example.com" },
  ]);
  await winner.page.getByRole("link", { name: "1,000 credits" }).waitFor();
  assert.ok(!site.service.output().replace(setupLink(), "").includes(tokenOf(setupLink())));
});

test("after set-up its page leads to sign-in and its API answers 404", async () => {
  await using tab = await site.tab({ statuses: [401, 404] });

  await tab.page.goto(`${site.url}/setup`);
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();

  const answer = await fetch(`${site.url}/console/setup`);
  assert.equal(answer.status, 404);
});
