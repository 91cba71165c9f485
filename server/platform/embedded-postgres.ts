import type { Clock } from "./clock.ts";
import { postgresAccount } from "./embedded-postgres/account.ts";
import { findBinaries } from "./embedded-postgres/binaries.ts";
import { makeClusterOnce, openPassword } from "./embedded-postgres/cluster.ts";
import { clearLeftovers, endCluster } from "./embedded-postgres/leftovers.ts";
import { pathsIn } from "./embedded-postgres/paths.ts";
import { clusterNameOf } from "./embedded-postgres/processes.ts";
import { urlOf } from "./embedded-postgres/running.ts";
import { openServerLog, type ServerLog } from "./embedded-postgres/server-log.ts";
import { launchServer, type Server } from "./embedded-postgres/server.ts";
import type { Settings } from "./embedded-postgres/settings.ts";
import { checkSurroundings } from "./embedded-postgres/surroundings.ts";
import type { DataDirLock } from "./instance-lock.ts";
import type { Log } from "./log.ts";

export type EmbeddedPostgresDeps = {
  /** Held while PostgreSQL runs: processes found on the folder have no owner and may be ended. */
  lock: DataDirLock;
  clock: Clock;
  log: Log;
  /** A fixed port. If left out, a free one is chosen. */
  port?: number;
  /** Overrides ours, for example with less memory in tests. Durability cannot be weakened. */
  settings?: Settings;
};

export type EmbeddedPostgres = {
  /** The address to connect to, including the password. */
  url: string;
  port: number;
  pid: number;
  /** Whether this start created the database. */
  isNew: boolean;
  /** Reports, even afterwards, that PostgreSQL ended although nobody called `stop`. */
  onExit(listener: (how: string) => void): void;
  /** Rolls back open transactions, writes a checkpoint and ends. Takes at most 20 s. */
  stop(): Promise<void>;
};

/**
 * Starts the bundled PostgreSQL as a child on loopback, in the locked data folder. Makes the
 * cluster on first use, ends what a killed instance left, and replays the log after a crash.
 */
export async function startEmbeddedPostgres(deps: EmbeddedPostgresDeps): Promise<EmbeddedPostgres> {
  const { lock, clock, log, port, settings = {} } = deps;
  await checkSurroundings(lock.dataDir);
  const paths = pathsIn(lock.dataDir);
  const account = await postgresAccount(paths);
  const binaries = await findBinaries(account);
  const isNew = await makeClusterOnce({ paths, binaries, account });
  const site = {
    cluster: paths.cluster,
    clusterName: await clusterNameOf(paths.cluster),
    clock,
    log,
  };
  await clearLeftovers(site);
  const password = await openPassword({ paths, binaries, account });

  const serverLog = await openServerLog(paths.log, clock);
  const server = await launchServer(
    { ...site, binaries, account, settings, serverLog },
    port,
  ).catch(async (error: unknown) => {
    await serverLog.close();
    throw error;
  });
  return { ...running(server, site, serverLog), url: urlOf(server.port, password), isNew };
}

type Site = { cluster: string; clusterName: string; clock: Clock; log: Log };

function running({ child, port, pid }: Server, site: Site, serverLog: ServerLog) {
  let isStopping = false;
  const exited = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const closed = exited.then(() => serverLog.close());
  return {
    port,
    pid,
    onExit(listener: (how: string) => void) {
      void exited.then((how) => isStopping || listener(how));
    },
    async stop() {
      isStopping = true;
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGINT");
        await endCluster(site);
      }
      await closed;
    },
  };
}
