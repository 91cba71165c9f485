import { type Database, type Sql } from "#platform";
import type { ServiceProcess } from "./process.ts";
import type { Site } from "./site.ts";
import type { Tab } from "./tab.ts";

/** While the work runs the service answers nobody, as if it hung: what waits for it stays waiting. */
export async function frozen(service: ServiceProcess, work: () => Promise<void>): Promise<void> {
  service.kill("SIGSTOP");
  try {
    await work();
  } finally {
    service.kill("SIGCONT");
  }
}

/**
 * A page that was seen before, so that its code is in the browser's cache, opened by its link while the
 * service answers nobody: only what the page asks for is late.
 */
export async function whileLate(
  { site, tab, link }: { site: Site; tab: Tab; link: string },
  work: () => Promise<void>,
): Promise<void> {
  const { page } = tab;
  await page.goto(`${site.url}/keys`);
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  // What the service was at when it stopped may be out of time when it goes on.
  tab.expect(503);
  await frozen(site.service, async () => {
    await page.getByRole("link", { name: link, exact: true }).click();
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
