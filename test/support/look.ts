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
/** Copying the source of every element it checks would be much of axe's work. */
const AXE = `${readFileSync(AXE_FILE, "utf8")}; axe.configure({ noHtml: true });`;
const RULES = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};
const CONTRAST = { type: "rule", values: ["color-contrast"] };

/**
 * Each size and scheme once, as a phone's colours are mostly a desktop's. A dark desktop would cost
 * half as much again; roles.test.ts checks every page's contrast in it once.
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

/** Resolves once the page looks so: before that, it may still have parts of the other size. */
async function look(page: Page, size: View["home"], scheme: "light" | "dark"): Promise<void> {
  await Promise.all([page.setViewportSize(size), page.emulateMedia({ colorScheme: scheme })]);
  await page.locator(`[data-mantine-color-scheme=${scheme}]`).first().waitFor();
}

/** What is behind a dialog was checked before the dialog opened. */
const IN_FRONT =
  "(document.querySelector('[role=dialog]') === null ? document : { include: '[role=dialog]' })";

type Violation = { id: string; nodes: { target: unknown[]; failureSummary?: string }[] };

async function axeFindings(page: Page, runOnly: typeof RULES): Promise<string[]> {
  // By `evaluate`: the content security policy would refuse it as a script of the page.
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

/** To look at pages: `PICTURES=1 npm test -- test/browser`. It takes as long as the checks. */
const WANTS_PICTURES = process.env["PICTURES"] !== undefined;
const PICTURES = fileURLToPath(new URL("../../node_modules/.cache/pictures", import.meta.url));

/** Kept with the run for people to look at; never compared. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!WANTS_PICTURES) return;
  const folder = join(PICTURES, fileName(getTestContext()?.name ?? "no test"));
  mkdirSync(folder, { recursive: true });
  // Behind a dialog or when scrolled, fixed elements would appear in the wrong place.
  const fullPage = await page.evaluate<boolean>(
    "document.querySelector('[role=dialog]') === null && scrollY === 0",
  );
  await page.screenshot({ path: join(folder, `${fileName(name)}.png`), fullPage });
}

function fileName(words: string): string {
  return words.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}
