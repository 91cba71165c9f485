import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, glob, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { holdBuildLock } from "./build-lock.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const HOME = join(ROOT, "dashboard");
const DIST = join(HOME, "dist");
const CACHE = join(ROOT, "node_modules/.cache");
const STAMP = "sources.sha256";

/**
 * Builds the dashboard if `dist` is missing or was made from other sources, and returns its folder.
 * Sources are compared by content: a checkout changes their times, but not the result.
 */
export async function buildDashboard(): Promise<{ folder: string }> {
  const sources = await hashSources();
  if (await isBuiltFrom(sources)) return { folder: DIST };
  await mkdir(CACHE, { recursive: true });
  await using _lock = await holdBuildLock(join(CACHE, "dashboard.building"));
  // The previous holder of the lock may have built it.
  if (await isBuiltFrom(sources)) return { folder: DIST };
  await build(sources);
  return { folder: DIST };
}

/** Built aside, then replaces the old build as a whole: being killed half-way harms nothing. */
async function build(sources: string): Promise<void> {
  const aside = await mkdtemp(join(CACHE, "dashboard-"));
  try {
    const { build: viteBuild } = await import("vite");
    await viteBuild({
      configFile: join(HOME, "vite.config.ts"),
      logLevel: "warn",
      build: { outDir: aside, emptyOutDir: true },
    });
    await compressAll(aside);
    await writeFile(join(aside, STAMP), sources);
    // Another user may serve what this one builds, but mkdtemp's folders are private.
    await chmod(aside, 0o755);
    await rm(DIST, { recursive: true, force: true });
    await rename(aside, DIST);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function isBuiltFrom(sources: string): Promise<boolean> {
  const stamp = join(DIST, STAMP);
  return existsSync(stamp) && (await readFile(stamp, "utf8")) === sources;
}

/** A hash of all that goes into the bundle: our sources, the contract, the installed packages. */
async function hashSources(): Promise<string> {
  const folders = [HOME, join(ROOT, "contract"), join(ROOT, "docs/samples")];
  const exclude = ["dist", "**/*.test.ts"];
  const lists = await Promise.all(folders.map((folder) => filesUnder(folder, exclude)));
  const paths = [...lists.flat(), join(ROOT, "package-lock.json")].toSorted();
  const hash = createHash("sha256");
  for (const path of paths) hash.update(`${relative(ROOT, path)}\n`).update(await readFile(path));
  return hash.digest("hex");
}

async function filesUnder(folder: string, exclude: string[] = []): Promise<string[]> {
  const found = glob("**", { cwd: folder, withFileTypes: true, exclude });
  const entries = await Array.fromAsync(found);
  return entries.filter((entry) => entry.isFile()).map((each) => join(each.parentPath, each.name));
}

/** Fonts and images are already compressed. */
const COMPRESSED = /\.(?:js|css|svg)$/;

async function compressAll(folder: string): Promise<void> {
  const paths = (await filesUnder(folder)).filter((path) => COMPRESSED.test(path));
  await Promise.all(paths.map((path) => compress(path)));
}

async function compress(path: string): Promise<void> {
  const content = await readFile(path);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  await Promise.all([writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)]);
}
