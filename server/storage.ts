import { Client } from "pg";
import {
  checkSurroundings,
  type Clock,
  connectToPrimary,
  DatabaseUnavailable,
  DataDirInUse,
  type DataDirLock,
  findRunningPostgres,
  isOverstrained,
  lockDataDir,
  type Log,
  messageOf,
  superviseEmbeddedPostgres,
  Unfit,
} from "#platform";
import type { Config } from "./settings.ts";

/** The PostgreSQL that this process works with. */
export type Storage = {
  url: string;
  isEmbedded: boolean;
  /** Called last: everything that uses the database has stopped by then. */
  stop(): Promise<void>;
};

/** A command's storage. `isAlone`: no service runs on the data folder or can start meanwhile. */
export type JoinedStorage = Storage & { isAlone: boolean };

const OLDEST_VERSION = 15;

/** Takes the data folder and starts the embedded PostgreSQL, or checks the external one. */
export async function openStorage(
  config: Config,
  deps: { clock: Clock; log: Log; signal?: AbortSignal },
): Promise<Storage> {
  if (config.databaseUrl) return external(config.databaseUrl.reveal());
  await checkSurroundings(config.dataDir);
  const lock = await lockAfterCommands(config.dataDir, deps);
  return runEmbedded(lock, deps);
}

/** Waits until a command that holds the folder ends, so nobody has to start the service twice. */
async function lockAfterCommands(
  dataDir: string,
  { clock, log, signal }: { clock: Clock; log: Log; signal?: AbortSignal },
): Promise<DataDirLock> {
  const until = clock.monotonicMs() + JOIN_LIMIT_MS;
  for (let isTold = false; ; isTold = true) {
    try {
      return lockDataDir(dataDir);
    } catch (error) {
      const isPatient = error instanceof DataDirInUse && error.isByCommand;
      if (!isPatient || signal?.aborted || clock.monotonicMs() > until) throw error;
      if (!isTold) log.info({ dataDir }, "a command uses the data folder: waiting for its end");
    }
    await clock.sleep(JOIN_EVERY_MS, signal);
  }
}

async function runEmbedded(lock: DataDirLock, deps: { clock: Clock; log: Log }): Promise<Storage> {
  try {
    const postgres = await superviseEmbeddedPostgres({ lock, ...deps });
    if (await isPasswordWrong(postgres.url)) {
      await postgres.stop();
      throw new Unfit(
        `The password in ${lock.dataDir}/postgresql.password is not that of the database beside it. Restore it, or delete the file: the next start makes another.`,
      );
    }
    return {
      url: postgres.url,
      isEmbedded: true,
      async stop() {
        await postgres.stop();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

const INVALID_PASSWORD = "28P01";

/** A service that is just starting or stopping holds the folder without a PostgreSQL to join. */
const JOIN_LIMIT_MS = 15_000;
const JOIN_EVERY_MS = 50;

/** For commands: joins the PostgreSQL of a running service, or starts one for this command only. */
export async function joinStorage(
  config: Config,
  deps: { clock: Clock; log: Log },
): Promise<JoinedStorage> {
  if (config.databaseUrl) {
    return { ...(await external(config.databaseUrl.reveal())), isAlone: false };
  }
  const until = deps.clock.monotonicMs() + JOIN_LIMIT_MS;
  for (;;) {
    const running = await findRunningPostgres(config.dataDir);
    const joined = running && (await stay(running.url));
    if (joined) {
      const { url } = running;
      return { url, isEmbedded: true, isAlone: false, stop: () => leave(joined) };
    }
    try {
      await checkSurroundings(config.dataDir);
      const { url, stop } = await runEmbedded(lockDataDir(config.dataDir, "command"), deps);
      return { url, isEmbedded: true, isAlone: true, stop: () => stopAfterOthers(url, stop) };
    } catch (error) {
      if (!(error instanceof DataDirInUse) || deps.clock.monotonicMs() > until) throw error;
    }
    await deps.clock.sleep(JOIN_EVERY_MS);
  }
}

/** Every command that joins shares this lock; whoever stops PostgreSQL takes it exclusively. */
const JOIN_LOCK = 4_276_221_003;

/** Opens a connection that keeps PostgreSQL up; undefined if it is not running or about to stop. */
async function stay(url: string): Promise<Client | undefined> {
  const client = bystander(url);
  try {
    await client.connect();
    const { rows } = await client.query<{ joined: boolean }>(
      "select pg_try_advisory_lock_shared($1) as joined",
      [JOIN_LOCK],
    );
    if (rows[0]?.joined) return client;
  } catch {
    // PostgreSQL is not running: the caller starts one of its own.
  }
  await leave(client);
  return undefined;
}

/** Other commands may have joined this one's PostgreSQL, so it waits a while for them to end. */
async function stopAfterOthers(url: string, stop: () => Promise<void>): Promise<void> {
  const client = bystander(url);
  try {
    await client.connect();
    await client.query(`set lock_timeout = ${JOIN_LIMIT_MS}`);
    await client.query("select pg_advisory_lock($1)", [JOIN_LOCK]);
  } catch {
    // PostgreSQL is stopped next in any case, so a failure to ask does not matter.
  }
  await stop();
  await leave(client);
}

function bystander(url: string): Client {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  return client.on("error", () => undefined);
}

/** The file was changed, or is another installation's. Any other failure is left to the pools, which try again. */
async function isPasswordWrong(url: string): Promise<boolean> {
  const client = bystander(url);
  const refused = await client.connect().catch((error: { code?: string }) => error.code);
  await leave(client);
  return refused === INVALID_PASSWORD;
}

async function leave(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}

async function external(url: string): Promise<Storage> {
  let client: Client | undefined;
  try {
    client = await connectToPrimary(url);
    refuseUnfit(await settingsOf(client));
    return { url, isEmbedded: false, stop: () => Promise.resolve() };
  } catch (error) {
    if (error instanceof Unfit) throw error;
    const reason = messageOf(error).replace(/\.$/, "");
    throw new Unfit(
      error instanceof DatabaseUnavailable && isOverstrained(error)
        ? `The database at DATABASE_URL is too busy or full: ${reason}. Try again, or give it more: max_connections, memory, disk.`
        : `The database at DATABASE_URL cannot be reached: ${reason}. Check host, port, user, password and name.`,
    );
  } finally {
    await client?.end().catch(() => undefined);
  }
}

/** Without these, a crash of the server loses what was accepted. */
const DURABLE = ["fsync", "full_page_writes", "synchronous_commit"];

async function settingsOf(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name = any ($1)",
    [["server_version_num", "server_encoding", ...DURABLE]],
  );
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

function refuseUnfit(settings: Map<string, string>): void {
  const major = Math.floor(Number(settings.get("server_version_num")) / 10_000);
  if (major < OLDEST_VERSION) {
    throw new Unfit(
      `DATABASE_URL leads to PostgreSQL ${major}; Posthorn needs ${OLDEST_VERSION} or newer. Upgrade it, or leave DATABASE_URL out to use the embedded one.`,
    );
  }
  const off = DURABLE.filter((name) => settings.get(name) === "off");
  if (off.length > 0) {
    throw new Unfit(
      `DATABASE_URL leads to a PostgreSQL that can lose what was accepted. Switch on, for the server, the database and the role: ${off.join(", ")}.`,
    );
  }
  const encoding = settings.get("server_encoding");
  if (encoding !== "UTF8") {
    throw new Unfit(
      `DATABASE_URL leads to a database in ${encoding}, which cannot hold every text. Make one in UTF8: create database posthorn owner posthorn encoding 'UTF8' template template0`,
    );
  }
}
