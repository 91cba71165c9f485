import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { getTestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 375, height: 812 };

const AXE_FILE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
/** To copy the source of every element that it looks at would be much of its work. */
const AXE = `${readFileSync(AXE_FILE, "utf8")}; axe.configure({ noHtml: true });`;
const RULES = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};
const CONTRAST = { type: "rule", values: ["color-contrast"] };

/**
 * Each size and each scheme once: most colours of a phone are those of a desktop. The desktop in the
 * dark would cost half as much again; roles.test.ts looks at the contrast of every page so, once.
 */
const VIEWS = [
  { name: "desktop", size: DESKTOP, scheme: "light" },
  { name: "phone in the dark", size: PHONE, scheme: "dark" },
] as const;

type View = { home: { width: number; height: number }; isDark: boolean };

export async function checkState(page: Page, state: string, { home, isDark }: View): Promise<void> {
  for (const { name, size, scheme } of VIEWS) {
    await look(page, size, scheme);
    await checkView(page, `${state} ${name}`);
  }
  await look(page, home, isDark ? "dark" : "light");
}

async function checkView(page: Page, view: string): Promise<void> {
  await picture(page, view);
  assert.deepEqual(await axeFindings(page, RULES), [], `axe on ${view}`);
  assert.equal(await sidewaysScroll(page), 0, `sideways scroll on ${view}`);
}

export async function checkContrast(page: Page, view: string): Promise<void> {
  await picture(page, view);
  assert.deepEqual(await axeFindings(page, CONTRAST), [], `contrast on ${view}`);
}

/** Comes back when the page looks so: before, parts of the other size may still stand there. */
async function look(page: Page, size: View["home"], scheme: "light" | "dark"): Promise<void> {
  await Promise.all([page.setViewportSize(size), page.emulateMedia({ colorScheme: scheme })]);
  await page.locator(`[data-mantine-color-scheme=${scheme}]`).first().waitFor();
}

/** What lies behind a dialog was looked at before it opened. */
const IN_FRONT =
  "(document.querySelector('[role=dialog]') === null ? document : { include: '[role=dialog]' })";

type Violation = { id: string; nodes: { target: unknown[]; failureSummary?: string }[] };

async function axeFindings(page: Page, runOnly: typeof RULES): Promise<string[]> {
  // Through evaluate: as a script of the page, the policy would refuse it.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  // None of these rules reads style sheets; those about sound read media.
  const options = { runOnly, resultTypes: ["violations"], preload: { assets: ["media"] } };
  const found = `axe.run(${IN_FRONT}, ${JSON.stringify(options)}).then(({ violations }) => violations)`;
  const violations = await page.evaluate<Violation[]>(found);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id}: ${target.join(" ")} — ${failureSummary ?? ""}`,
    ),
  );
}

function sidewaysScroll(page: Page): Promise<number> {
  const root = "document.documentElement";
  return page.evaluate<number>(`Math.max(0, ${root}.scrollWidth - ${root}.clientWidth)`);
}

/** For those who want to look: `PICTURES=1 npm test -- test/browser`. They cost as much as the checks. */
const WANTS_PICTURES = process.env["PICTURES"] !== undefined;
const PICTURES = fileURLToPath(new URL("../../node_modules/.cache/pictures", import.meta.url));

/** Kept with the run, to be looked at; never compared. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!WANTS_PICTURES) return;
  const folder = join(PICTURES, fileName(getTestContext()?.name ?? "no test"));
  mkdirSync(folder, { recursive: true });
  // Behind a dialog, or scrolled, what stands still would be put in the wrong place.
  const fullPage = await page.evaluate<boolean>(
    "document.querySelector('[role=dialog]') === null && scrollY === 0",
  );
  await page.screenshot({ path: join(folder, `${fileName(name)}.png`), fullPage });
}

function fileName(words: string): string {
  return words.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}
