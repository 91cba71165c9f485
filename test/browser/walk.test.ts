import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startReceiver } from "../support/receiver.ts";
import { NOWHERE, startSite } from "../support/site.ts";

const PASSWORD = "violet tram 88 ladder";

const dialog = (page: Page) => page.getByRole("dialog");
const clipboard = (page: Page) => page.evaluate<string>("navigator.clipboard.readText()");

/** Uses the navigation, which on a phone is behind a button. */
async function open(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Open navigation" }).click();
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

/** On a desktop, each step is tested in the file of its page. */
test("a stranger on a phone gets from the printed link to a delivered message and its verified webhook", async () => {
  await using site = await startSite();
  await using receiver = await startReceiver();
  await using tab = await site.tab({ isPhone: true, statuses: [401, 404] });
  const { page } = tab;
  const link = /http\S+\/setup#token=\S+/.exec(site.service.output())?.[0] ?? "";
  site.secrets.set(PASSWORD, NOWHERE).set(link.split("#token=")[1] ?? link, NOWHERE);

  await page.goto(link);
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.getByLabel("E-mail").fill("ada@example.com");
  await page.getByLabel("Password *", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Account name").fill("Analytical Engines");
  await page.getByRole("button", { name: "Finish set-up" }).click();
  const walk = page.getByRole("region", { name: "Your first message in two minutes" });
  await walk.getByText("0 of 4 done").waitFor();
  await tab.picture("first step");

  await walk.getByRole("link", { name: "Create a key" }).click();
  await dialog(page).getByLabel("Name").fill("Web shop");
  await dialog(page).getByRole("button", { name: "Create key" }).click();
  await dialog(page).getByRole("button", { name: "Copy key" }).click();
  await dialog(page).getByRole("button", { name: "Copied" }).waitFor();
  site.secrets.set(await clipboard(page), /^POST \/console\/accounts\/[^/]+\/keys$/);
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await dialog(page).waitFor({ state: "detached" });

  await open(page, "Overview");
  await walk.getByText("1 of 4 done").waitFor();
  await tab.picture("second step");
  await walk.getByRole("link", { name: "Compose in the browser" }).click();
  await page.getByLabel("Recipient").fill("4915112345678");
  await page.getByLabel("Text").fill("Hello from a stranger");
  await page.getByText("More options").click();
  await page.getByLabel("Callback address").fill(receiver.url);
  await tab.picture("compose");
  await page.getByRole("button", { name: "Send for 1 credit" }).click();
  await page.getByText("DELIVERED to the handset").waitFor();
  await page.getByRole("link", { name: /^999 credits/ }).waitFor();
  await tab.picture("delivered");
  const received = await receiver.arrived(2);

  await open(page, "Webhooks");
  await page.getByRole("tab", { name: "Secret" }).click();
  await page.getByRole("button", { name: "Reveal" }).click();
  await dialog(page).getByRole("button", { name: "Reveal" }).click();
  await page.getByRole("button", { name: "Copy secret" }).click();
  const secret = await clipboard(page);
  site.secrets.set(secret, /signing-secret\/reveal$/);
  await tab.picture("secret");
  const statuses = received.map(({ body, headers }) => {
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    assert.equal(headers["x-sms-signature"], signature);
    return (JSON.parse(body.toString()) as { status: string }).status;
  });
  assert.deepEqual(statuses.toSorted(), ["DELIVERED", "SENT"]);

  await open(page, "Overview");
  await page.getByText("3 of 4 done").waitFor();
  await tab.picture("overview after the walk");
});
