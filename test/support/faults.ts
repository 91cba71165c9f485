import { type Database, type Sql } from "#platform";
import type { ServiceProcess } from "./process.ts";
import type { Site } from "./site.ts";
import type { Tab } from "./tab.ts";

/** While the work runs the service answers nobody, as if it hung: what waits for it stays waiting. */
async function frozen(service: ServiceProcess, work: () => Promise<void>): Promise<void> {
  service.kill("SIGSTOP");
  try {
    await work();
  } finally {
    service.kill("SIGCONT");
  }
}

/**
 * A page that nobody has seen yet in this tab, which shows another one, opened by its link while the
 * service answers nobody. Its code is there already: only what the page asks for is late.
 */
export async function whileLate(
  { site, tab, link }: { site: Site; tab: Tab; link: string },
  work: () => Promise<void>,
): Promise<void> {
  const { page } = tab;
  const opener = page.getByRole("link", { name: link, exact: true });
  const href = JSON.stringify(await opener.getAttribute("href"));
  await page.evaluate(`__TSR_ROUTER__.preloadRoute({ to: ${href} })`);
  // What the service was at when it stopped may be out of time when it goes on.
  tab.expect(503);
  await frozen(site.service, async () => {
    await opener.click();
    await work();
  });
}

/** While the work runs a column is missing, so that whatever reads it fails inside the service. */
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
