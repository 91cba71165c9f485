import { existsSync, statfsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type LaunchOptions } from "playwright-core";
import { debianChromium } from "./chromium-debian.ts";
import { packedChromium } from "./chromium-packed.ts";
import { shared } from "./shared.ts";

/** The executable, and the environment it needs. */
export type Found = Pick<LaunchOptions, "executablePath" | "env">;

/** http://posthorn.test is an insecure origin on loopback, so there is no clipboard API. */
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP posthorn.test 127.0.0.1",
  // A test's page does not live long enough for optimized code to pay off.
  "--js-flags=--no-opt --no-maglev",
];

/** The browser of the tests; it is never skipped. See docs/decisions/0005-browser-for-tests.md. */
export const shareBrowser = shared(async () => {
  const browser = await chromium.launch({
    ...(await findBrowser()),
    args: ARGS,
    ignoreDefaultArgs: hasRoomInMemory() ? ["--disable-dev-shm-usage"] : [],
    timeout: 120_000,
  });
  return { browser, [Symbol.asyncDispose]: () => browser.close() };
});

/** Fetches a browser if there is none. */
export async function findBrowser(): Promise<Found> {
  const given = process.env["CHROMIUM_PATH"];
  if (given) return { executablePath: given };
  if (process.platform === "linux" && process.arch === "x64") return packedChromium();
  const installed = installedBrowser();
  if (installed) return { executablePath: installed };
  try {
    return await debianChromium();
  } catch (error) {
    throw new Error(
      `No browser for the tests: none is installed in the usual places, and none could be fetched (${reasonOf(error)}). ` +
        "Install Chrome or Chromium and set CHROMIUM_PATH to its executable.",
      { cause: error },
    );
  }
}

/** Composed pictures are files: on a disk, a tenth of the work. Containers often have 64 MB. */
function hasRoomInMemory(): boolean {
  if (!existsSync("/dev/shm")) return false;
  const { bavail, bsize } = statfsSync("/dev/shm");
  return bavail * bsize > 1024 ** 3;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
}

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const PLACES = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

function installedBrowser(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const onPath = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...onPath, ...PLACES].find((path) => existsSync(path));
}
