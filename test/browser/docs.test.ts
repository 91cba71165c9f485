import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "#platform";
import { siteOfFile } from "../support/site.ts";

const { site, account } = await siteOfFile();

/** Requests to other hosts are caught by the guards of every tab. */
test("the API reference loads nothing from outside, sends a real message with a pasted key, and stores nothing", async () => {
  const key = await site.key(account);
  await using tab = await site.tab();
  const { page } = tab;
  await page.goto(`${site.url}/docs`);

  await page.locator("input[id^=scalar-refs]").fill(key);
  await page
    .getByRole("button", { name: /^Test Request/ })
    .first()
    .click();
  const client = page.getByRole("dialog");
  await client
    .getByRole("button", { name: /Send post request to/ })
    .first()
    .click();
  await client.getByText(/^202/).first().waitFor();

  const [sent] = await site.db.query(sql`
    select count(*)::int as count from messages where account_id = ${account.accountId}`);
  assert.deepEqual(sent, { count: 1 });
  const kept = `indexedDB.databases().then((databases) =>
    [{ ...localStorage }, { ...sessionStorage }, databases, document.cookie])`;
  assert.deepEqual(await page.evaluate(kept), [{}, {}, [], ""]);
});
