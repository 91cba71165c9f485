import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { NO_PAGE, siteOfFile } from "../support/site.ts";
import { until } from "../support/until.ts";

const { site, account, ada } = await siteOfFile({ isOperator: true });
await site.person("Bob Babbage", [[account, "viewer"]]);
const key = await site.key(account);
const { messageId } = await site.send(key, { recipient: "4915112345678", text: "Hello" });

/** Less than this is a number that gained a digit, or a late font. */
const MOST_SHIFT = 0.02;

const WATCH = `
  window.shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => {
    window.shifted += value;
  })).observe({ type: "layout-shift", buffered: true });`;

/** Each page with the last thing on it. */
const PAGES: [path: string, last: (page: Page) => ReturnType<Page["locator"]>][] = [
  ["/", (page) => page.getByRole("region", { name: "Webhooks" })],
  [`/messages/${messageId}`, (page) => page.getByText("Message id")],
  ["/compose", (page) => page.getByRole("region", { name: "Send it with the API" })],
  ["/team", (page) => page.getByText("What each role may do")],
  ["/operator/routes", (page) => page.getByText("Which carrier for this number?")],
  ["/operator/prices", (page) => page.getByText("What does this number cost?")],
  ["/operator/queue", (page) => page.getByText("Alive")],
];

/** With different delays, so that each part is seen without the others. */
async function delayAnswers(page: Page): Promise<void> {
  let asked = 0;
  await page.route("**/console/**", async (route) => {
    asked += 1;
    const isOwn = !/\/(?:me|stream)$/.test(route.request().url());
    if (isOwn) await page.waitForTimeout(150 * (asked % 4));
    await route.continue();
  });
}

test("nothing shifts while the answers of a page arrive one by one", async () => {
  await using tab = await site.signedIn(ada, "/keys", { isPhone: true });
  const { page } = tab;
  await page.addInitScript(WATCH);
  await delayAnswers(page);

  const jumping: string[] = [];
  for (const [path, last] of PAGES) {
    await page.goto(`${site.url}${path}`);
    await last(page).first().waitFor();
    const shifted = await page.evaluate<number>("window.shifted");
    if (shifted > MOST_SHIFT) jumping.push(`${path} ${shifted}`);
  }

  await page.unrouteAll({ behavior: "ignoreErrors" });
  assert.deepEqual(jumping, []);
});

test("a page's script is fetched in parallel with the session, and a late one shows that it is awaited", async () => {
  await using tab = await site.signedIn(ada, NO_PAGE);
  const { page } = tab;
  const me = Promise.withResolvers<void>();
  await page.route("**/console/me", (route) => me.promise.then(() => route.continue()));

  const fetched = page.waitForRequest("**/assets/credits-*.js");
  await page.goto(`${site.url}/credits`);
  await fetched;

  me.resolve();
  await page.getByRole("heading", { name: "Credits", level: 1 }).waitFor();

  const team = Promise.withResolvers<void>();
  await page.route("**/assets/team-*.js", (route) => team.promise.then(() => route.continue()));
  await page.getByRole("link", { name: "Team", exact: true }).click();
  await page.getByText("Waiting for the service…").waitFor();
  team.resolve();
  await page.getByRole("heading", { name: "Team", level: 1 }).waitFor();
});

test("a message's history is requested in parallel with the message", async () => {
  await using tab = await site.signedIn(ada, NO_PAGE);
  const { page } = tab;
  const message = Promise.withResolvers<void>();
  await page.route(`**/messages/${messageId}`, async (route) => {
    if (route.request().resourceType() === "fetch") await message.promise;
    await route.continue();
  });

  const asked = page.waitForRequest(`**/messages/${messageId}/events`);
  await page.goto(`${site.url}/messages/${messageId}`);
  await asked;

  message.resolve();
  await page.getByRole("region", { name: "Timeline" }).waitFor();
});

test("a script missing since an upgrade reloads the site once, then says so until it is available", async () => {
  await using tab = await site.signedIn(ada, "/keys", { statuses: [0, 404] });
  const { page } = tab;
  const missing = { status: 404, body: "" };
  const loads: string[] = [];
  page.on("load", () => loads.push(new URL(page.url()).pathname));
  await page.route(/\/assets\/(?:credits|create-key)-[^/]*\.js$/, (route) =>
    route.fulfill(missing),
  );

  await page.getByRole("link", { name: "Credits", exact: true }).click();
  await page.getByText("This part of the dashboard could not be loaded.").waitFor();
  await until("the site has loaded anew", () => loads.length === 1);
  await page.goto(`${site.url}/keys`);
  await page.getByRole("button", { name: "Create key" }).first().click();
  await page.getByText("This part of the dashboard could not be loaded.").waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("dialog").waitFor();
  await until("the last load is over", () => loads.length >= 4);

  assert.deepEqual(loads, ["/credits", "/keys", "/keys", "/keys"]);
});
