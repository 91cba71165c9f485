import assert from "node:assert/strict";
import type { Browser, BrowserContext, Page, Response } from "playwright-core";
import { checkContrast, checkState, DESKTOP, PHONE, picture } from "./look.ts";
import type { Secrets } from "./site.ts";

export type TabOptions = {
  isPhone?: boolean;
  isDark?: boolean;
  zone?: string;
  /** Statuses whose line in the browser's console is expected. */
  statuses?: number[];
  /** The test controls the clock of its pages, from the first page on. */
  hasClock?: boolean;
  /**
   * For a test that makes changes it cannot undo, such as to its pages' clock. Put it last in its
   * file: the next test would start in a cold browser process.
   */
  isLast?: boolean;
};

export type Tab = AsyncDisposable & {
  page: Page;
  context: BrowserContext;
  /** Everything that was requested, as `METHOD path?query`. */
  requests: string[];
  /** From now on, answers with these statuses are expected. */
  expect(...statuses: number[]): void;
  /**
   * Checks light on a desktop and dark on a phone: axe finds nothing, and nothing scrolls sideways.
   * What all lists share is checked once: late and failed lists on Credits, an empty search on
   * Messages.
   */
  check(state: string): Promise<void>;
  /** Checks only that all text has enough contrast, as the page looks now. */
  checkContrast(view: string): Promise<void>;
  /** Navigates within the tab, like a link: loading the whole application anew is costly. */
  go(address: string): Promise<void>;
  /** Takes a picture, if pictures are wanted. */
  picture(name: string): Promise<void>;
  /** Waits until the element with this label or text has the focus. */
  focusIs(name: string): Promise<void>;
};

type Deps = { url: string; browser: Browser; secrets: Secrets; seats: Seats };

const HOME_ZONE = "Europe/Paris";
/** The browser's own console line for an answer that is an error. */
const STATUS_LINE = /^Failed to load resource: the server responded with a status of (\d+)/;
/** The same if no answer came, which counts as status 0. */
const NO_ANSWER =
  /^Failed to load resource: net::ERR_INTERNET_DISCONNECTED|^TypeError: Failed to fetch dynamically/;
/** Longer than any wait on a busy machine: a state that is not there by then will not come. */
const WAIT_MS = 120_000;

/** A page with the guards on: whatever they find fails the test when the tab closes. */
export async function openTab(deps: Deps, options: TabOptions = {}): Promise<Tab> {
  const seat = await takeSeat(deps, options);
  const { context } = seat;
  const page = await openPage(seat, options);
  const watch = guard(page, deps, new Set(options.statuses));
  const home = options.isPhone ? PHONE : DESKTOP;
  return {
    page,
    context,
    requests: watch.requests,
    expect: (...statuses) => statuses.forEach((status) => watch.expected.add(status)),
    check: (state) => checkState(page, state, { home, isDark: options.isDark ?? false }),
    checkContrast: (view) => checkContrast(page, view),
    go: (address) => page.evaluate(`__TSR_ROUTER__.navigate({ href: ${JSON.stringify(address)} })`),
    picture: (name) => picture(page, name),
    focusIs: (name) => focusIs(page, name),
    async [Symbol.asyncDispose]() {
      await watch.settle();
      if (options.isLast) await context.close();
      else await leaveSeat(deps, options, seat);
      // Written even if the test failed before, as then only its own error is reported.
      for (const fault of watch.faults) process.stderr.write(`${fault}\n`);
      assert.deepEqual(watch.faults, [], "the browser reports faults");
    },
  };
}

/**
 * A context, and a page in it that no test sees. Pages that it opens share its process, where the
 * site's code is already compiled and warm: a new process costs more than most tests do in it.
 */
type Seat = { context: BrowserContext; anchor: Page };
/** Free seats, by their place. */
export type Seats = Map<string, Seat[]>;

/** The zone belongs to the context; everything else can differ from page to page. */
function placeOf({ url }: Deps, { zone = HOME_ZONE }: TabOptions): string {
  return JSON.stringify([url, zone]);
}

async function takeSeat(deps: Deps, options: TabOptions): Promise<Seat> {
  const { browser, url, seats } = deps;
  const free = seats.get(placeOf(deps, options))?.pop();
  if (free) return free;
  const context = await browser.newContext({
    viewport: DESKTOP,
    colorScheme: "light",
    locale: "en-GB",
    timezoneId: options.zone ?? HOME_ZONE,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(WAIT_MS);
  if (URL.parse(url)?.hostname === "127.0.0.1") {
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
  }
  const anchor = await context.newPage();
  await anchor.goto(`${url}/healthz`);
  return { context, anchor };
}

async function openPage({ context, anchor }: Seat, options: TabOptions): Promise<Page> {
  const opened = context.waitForEvent("page");
  await anchor.evaluate("void window.open('about:blank')");
  const page = await opened;
  if (options.isDark) await page.emulateMedia({ colorScheme: "dark" });
  if (options.isPhone) {
    await page.setViewportSize(PHONE);
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  }
  if (options.hasClock) await page.clock.install();
  return page;
}

/** Resets the context: no pages, no cookies, no storage. */
async function leaveSeat(deps: Deps, options: TabOptions, seat: Seat): Promise<void> {
  const { seats } = deps;
  const place = placeOf(deps, options);
  const { context, anchor } = seat;
  const pages = context.pages().filter((page) => page !== anchor);
  await Promise.all(pages.map((page) => page.close()));
  await context.clearCookies();
  await anchor.evaluate("localStorage.clear(), sessionStorage.clear()");
  seats.set(place, [...(seats.get(place) ?? []), seat]);
}

/** Watches the console, errors, requests and answers of a page. */
function guard(page: Page, { url, secrets }: Deps, expected: Set<number>) {
  const faults: string[] = [];
  const requests: string[] = [];
  const answers: Promise<{ method: string; address: string; content: string }>[] = [];
  const { host } = new URL(url);

  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    const status = NO_ANSWER.test(message.text()) ? 0 : STATUS_LINE.exec(message.text())?.[1];
    if (status !== undefined && expected.has(Number(status))) return;
    faults.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const address = new URL(request.url());
    requests.push(`${request.method()} ${address.pathname}${address.search}`);
    if (!["blob:", "data:"].includes(address.protocol) && address.host !== host) {
      faults.push(`a request left the origin: ${request.url()}`);
    }
  });
  page.on("response", (response) => {
    // The same for everybody, and most of what is fetched.
    if (response.url().startsWith(`${url}/assets/`)) return;
    answers.push(contentOf(response));
  });

  async function settle(): Promise<void> {
    for (const { method, address, content } of await Promise.all(answers)) {
      for (const [secret, allowed] of secrets) {
        const path = new URL(address).pathname;
        if (address.includes(secret)) faults.push(`the address ${path} holds a secret`);
        if (content.includes(secret) && !allowed.test(`${method} ${path}`)) {
          faults.push(`the answer of ${method} ${path} holds a secret`);
        }
      }
    }
  }
  return { faults, requests, expected, settle };
}

/** The headers and body of an answer that may contain a secret; a stream has no end to wait for. */
async function contentOf(response: Response) {
  const headers = await response.allHeaders().catch((): Record<string, string> => ({}));
  const type = headers["content-type"] ?? "";
  const isText = /json|csv|html/.test(type);
  const body = isText ? await bodyOf(response) : "";
  const method = response.request().method();
  return { method, address: response.url(), content: `${JSON.stringify(headers)}\n${body}` };
}

/** An answer whose body the page never reads does not end, and nobody can see a secret in it. */
const BODY_MS = 2_000;

function bodyOf(response: Response): Promise<string> {
  const never = new Promise<string>((resolve) => setTimeout(resolve, BODY_MS, "").unref());
  return Promise.race([response.text().catch(() => ""), never]);
}

const FOCUSED =
  "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent";

const FOCUS_PAUSE_MS = 20;

async function focusIs(page: Page, name: string): Promise<void> {
  const began = performance.now();
  for (;;) {
    const found = await page.evaluate<string>(FOCUSED);
    if (found === name) return;
    if (performance.now() - began > WAIT_MS) {
      const shown = await page.locator("body").innerText();
      assert.equal(found.slice(0, 100), name, `what has the focus on a page that shows:\n${shown}`);
    }
    await page.waitForTimeout(FOCUS_PAUSE_MS);
  }
}
