import {
  type Clock,
  compareMigrations,
  createLog,
  type Database,
  findRunningPostgres,
  migrate,
  openDatabase,
  secretBox,
  silentLog,
  Unfit,
} from "#platform";
import type { Installation, MigrationsMode } from "./cli/index.ts";
import type { Config } from "./settings.ts";
import { previousSecretKey, requireSecretKey } from "./secret-key.ts";
import { joinStorage, type Storage } from "./storage.ts";

/** Opens what a command works on, whether or not a service is running. */
export async function openInstallation(
  config: Config,
  { clock, migrations }: { clock: Clock; migrations: MigrationsMode },
): Promise<Installation> {
  // A command speaks in sentences. The log is only for debugging.
  const log = config.logLevel === "debug" ? createLog("debug") : silentLog;
  const storage = await joinStorage(config, { clock, log });
  try {
    const applied = await bringUpToDate(storage, migrations);
    const { url, isEmbedded, isAlone } = storage;
    const db = openDatabase({ url, log, maxConnections: 4, applicationName: "posthorn cli" });
    return {
      settings: config,
      publicUrl: publicUrlOf(config),
      url,
      isEmbedded,
      isAlone,
      isBack: async () => !isEmbedded || (await isRunningAt(config.dataDir, url)),
      db,
      log,
      applied,
      compareMigrations: () => briefly(url, compareMigrations),
      async secrets() {
        const onlyLooks = migrations === "unchecked";
        const key = await requireSecretKey(config, db, { onlyLooks });
        return secretBox(key, previousSecretKey(config));
      },
      async close() {
        await db.close();
        await storage.stop();
      },
    };
  } catch (error) {
    await storage.stop();
    throw error;
  }
}

/** The URL at which people find the dashboard, as far as the settings say. */
export function publicUrlOf({ publicUrl, host, port }: Config): string {
  return publicUrl ?? `http://${addressOf(host)}:${port}`;
}

/** Whether it listens on every address, so that nobody can say which of them people use. */
export function isEveryAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function addressOf(host: string): string {
  if (isEveryAddress(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

async function isRunningAt(dataDir: string, url: string): Promise<boolean> {
  const running = await findRunningPostgres(dataDir);
  if (running && running.url !== url)
    throw new Unfit(
      "The service was started again, with its database at another port. Repeat the command.",
    );
  return running !== undefined;
}

/**
 * The embedded database belongs to this installation and is always migrated. An external one is
 * migrated only on request, because other nodes may run older versions on it.
 */
async function bringUpToDate(
  { url, isEmbedded }: Storage,
  mode: MigrationsMode,
): Promise<string[]> {
  if (mode === "unchecked") return [];
  if (mode === "apply") return migrate(url);
  const { missing } = await briefly(url, compareMigrations);
  if (missing.length === 0) return [];
  if (isEmbedded) return migrate(url);
  throw new Unfit(
    `The database at DATABASE_URL lacks ${missing.join(", ")}. Bring it up to date with: npx posthorn migrate`,
  );
}

/** Asks the database over a connection of its own, which it then closes. */
export async function briefly<Answer>(url: string, ask: (db: Database) => Promise<Answer>) {
  const db = openDatabase({ url, log: silentLog, maxConnections: 1 });
  try {
    return await ask(db);
  } finally {
    await db.close();
  }
}
