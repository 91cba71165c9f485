import type { Locator, Page } from "playwright-core";
import { type Database, type Sql } from "#platform";
import type { ServiceProcess } from "./process.ts";
import type { Site } from "./site.ts";
import type { Tab } from "./tab.ts";

/** Stops the service during the work, as if it hung: whatever waits for it keeps waiting. */
async function frozen(service: ServiceProcess, work: () => Promise<void>): Promise<void> {
  service.kill("SIGSTOP");
  try {
    await work();
  } finally {
    service.kill("SIGCONT");
  }
}

/**
 * Opens a page by its link in a tab that shows another one, while the service answers nobody. The
 * tab has not shown it before, but has its code: only the data that it asks for is late.
 */
export async function whileLate(
  { site, tab, link }: { site: Site; tab: Tab; link: string },
  work: () => Promise<void>,
): Promise<void> {
  const { page } = tab;
  const opener = page.getByRole("link", { name: link, exact: true });
  const href = JSON.stringify(await opener.getAttribute("href"));
  await page.evaluate(`__TSR_ROUTER__.preloadRoute({ to: ${href} })`);
  // What the service was doing when it stopped may be past its deadline when it goes on.
  tab.expect(503);
  await frozen(site.service, async () => {
    await opener.click();
    await work();
  });
}

/** Removes a column during the work, so that reading it fails inside the service. */
export async function withoutColumn(
  db: Database,
  column: `${string}.${string}`,
  work: () => Promise<void>,
): Promise<void> {
  const [table, name] = column.split(".");
  const rename = (from: string, to: string): Sql =>
    ({ text: `alter table ${table} rename column ${from} to ${to}`, values: [] }) as never;
  await db.query(rename(`${name}`, `${name}_away`));
  try {
    await work();
  } finally {
    await db.query(rename(`${name}_away`, `${name}`));
  }
}

/**
 * After a fault, until this is shown. The page may be asking again by itself: then the button is
 * gone, and comes back if what it asked was still refused.
 */
export async function tryAgain(page: Page, wanted: Locator): Promise<void> {
  const button = page.getByRole("button", { name: "Try again" });
  while (!(await wanted.isVisible())) {
    await button.evaluateAll((buttons) =>
      buttons.forEach((each) => "click" in each && each.click()),
    );
    await button.or(wanted).first().waitFor();
  }
}
