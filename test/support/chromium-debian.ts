import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Found } from "./browser.ts";

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
const STATUS = "/var/lib/dpkg/status";
/** Ten minutes: about 100 MB are downloaded, once. */
const FETCH_MS = 600_000;

/**
 * Debian's Chromium and the libraries that this machine lacks, downloaded by apt-get into a private
 * folder and unpacked there. Nothing is installed and the system is not changed, so it works for an
 * ordinary user too.
 */
export async function debianChromium(): Promise<Found> {
  if (process.platform !== "linux" || !existsSync(STATUS)) throw new Error("this is no Debian");
  const home = join(CACHE, `debian-headless-shell-${process.arch}-${installedPackagesHash()}`);
  if (!existsSync(home)) await fetchInto(home);
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: libraryFolders(join(home, "system")).join(":"),
    FONTCONFIG_FILE: join(home, "fonts.conf"),
  };
  return { executablePath: join(home, "system/usr/lib/chromium/chromium-headless-shell"), env };
}

/** The download fits the packages that the machine had then; after a change it is repeated. */
function installedPackagesHash(): string {
  return createHash("sha256").update(readFileSync(STATUS)).digest("hex").slice(0, 12);
}

/** Downloads aside, then renames: if two test files do it at once, the first one wins. */
async function fetchInto(home: string): Promise<void> {
  mkdirSync(dirname(home), { recursive: true });
  const aside = mkdtempSync(`${home}-`);
  try {
    await downloadPackages(aside);
    await unpackPackages(aside);
    writeFileSync(join(aside, "fonts.conf"), fontsConf(home));
    renameSync(aside, home);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (!existsSync(home)) throw error;
  }
}

async function downloadPackages(aside: string): Promise<void> {
  for (const folder of ["lists/partial", "archives/partial"]) {
    mkdirSync(join(aside, folder), { recursive: true });
  }
  const settings = {
    "Dir::State": aside,
    "Dir::State::lists": join(aside, "lists"),
    "Dir::State::status": STATUS,
    "Dir::Cache": aside,
    "Dir::Cache::archives": join(aside, "archives"),
    "Dir::Log": aside,
    "APT::Sandbox::User": "",
    "Debug::NoLocking": "1",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const limits = { timeout: FETCH_MS, maxBuffer: 16_777_216 };
  await run("apt-get", [...options, "update"], limits);
  await run(
    "apt-get",
    [...options, "-y", "--no-install-recommends", "--download-only", "install", ...PACKAGES],
    limits,
  );
}

const PACKAGES = ["chromium-headless-shell", "fonts-dejavu-core"];

async function unpackPackages(aside: string): Promise<void> {
  const archives = join(aside, "archives");
  for (const name of readdirSync(archives).filter((entry) => entry.endsWith(".deb"))) {
    await run("dpkg-deb", ["-x", join(archives, name), join(aside, "system")]);
  }
  for (const folder of ["archives", "lists"]) rmSync(join(aside, folder), { recursive: true });
  const executable = join(aside, "system/usr/lib/chromium/chromium-headless-shell");
  if (!existsSync(executable))
    throw new Error("the package chromium-headless-shell holds no browser");
}

/** Every folder with a shared library; some packages keep theirs in separate folders. */
function libraryFolders(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const folders = entries
    .filter((entry) => /\.so(\.|$)/.test(entry.name))
    .map((entry) => entry.parentPath);
  return [...new Set(folders)].filter((folder) => !folder.endsWith("/chromium"));
}

function fontsConf(home: string): string {
  return `<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>/usr/share/fonts</dir>
  <dir>${home}/system/usr/share/fonts</dir>
  <cachedir>${home}/fonts-cache</cachedir>
</fontconfig>`;
}
