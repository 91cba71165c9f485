import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasKeyProof, isSecretKeyRight, proveSecretKey } from "#accounts";
import { cannotOpen, KEY_FILE, type Queryable, secretBox, syncFolder, Unfit } from "#platform";
import type { Config } from "./settings.ts";

/**
 * Returns the key of this database. Secrets that a wrong key seals cannot be opened with the right
 * one, so a node with a wrong key must not even start; and if the database was ever used with a
 * key, no new one is made. A caller that `onlyLooks` does not record a first key.
 */
export async function requireSecretKey(
  config: Config,
  db: Queryable,
  { onlyLooks = false } = {},
): Promise<Buffer> {
  // The file comes before the proof. Another process may have made both since the first look.
  if (!hasSecretKey(config) && (await hasKeyProof(db)) && !hasSecretKey(config)) {
    throw new Unfit(
      `There is no SECRET_KEY and no secret.key in ${config.dataDir}, but the database has been used with one. Restore the key that it was used with; all nodes share one.`,
    );
  }
  const key = await readSecretKey(config);
  const secrets = secretBox(key, previousSecretKey(config));
  if (!onlyLooks) await proveSecretKey(db, secrets);
  if (await isSecretKeyRight(db, secrets)) return key;
  throw new Unfit(
    "SECRET_KEY, or secret.key in DATA_DIR, is not the key that this database's secrets were sealed with. Use the key that this database was last used with; all nodes share one.",
  );
}

/** The previous key, while the key is being changed. */
export function previousSecretKey({ secretKeyPrevious }: Config): Buffer | undefined {
  return secretKeyPrevious && Buffer.from(secretKeyPrevious.reveal(), "base64");
}

const keyFileOf = ({ dataDir }: Config) => join(dataDir, KEY_FILE);

function hasSecretKey(config: Config): boolean {
  return config.secretKey !== undefined || existsSync(keyFileOf(config));
}

/** The key that encrypts secrets at rest. If none is given, one is made once in the data folder. */
export async function readSecretKey(config: Config): Promise<Buffer> {
  if (config.secretKey) return Buffer.from(config.secretKey.reveal(), "base64");
  const path = keyFileOf(config);
  if (!existsSync(path)) await makeSecretKey(config.dataDir, path);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw cannotOpen(path, error);
  });
  const key = Buffer.from(text.trim(), "base64");
  if (key.length === 32) return key;
  throw new Unfit(
    `${path} does not contain a key (32 bytes in base64). Restore the key that was in it; if it was never used, delete the file, and the next start creates another.`,
  );
}

async function makeSecretKey(dataDir: string, path: string): Promise<void> {
  // Written to a temporary file, then linked: two processes that start together agree on a key.
  const aside = `${path}.${process.pid}`;
  try {
    await mkdir(dataDir, { recursive: true });
    await writeFile(aside, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600, flush: true });
    await link(aside, path);
    await chmod(path, 0o600);
    await syncFolder(dataDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw new Unfit(
        `The data folder ${dataDir} cannot be written (${(error as NodeJS.ErrnoException).code}). Fix its permissions, or set DATA_DIR.`,
      );
    }
  } finally {
    await rm(aside, { force: true }).catch(() => undefined);
  }
}
