import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Clock, Log } from "#platform";
import type { Account } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { folderArgument } from "./cluster.ts";
import { findLastPort, findPostmasterFile } from "./postmaster-file.ts";
import { CLEAN_ENVIRONMENT } from "./run.ts";
import type { ServerLog } from "./server-log.ts";
import { type Settings, settingArguments } from "./settings.ts";

export type Server = { child: ChildProcess; pid: number; port: number };

type Deps = {
  cluster: string;
  clusterName: string;
  binaries: Binaries;
  account: Account | undefined;
  settings: Settings;
  serverLog: ServerLog;
  clock: Clock;
  log: Log;
};

/** Replaying `max_wal_size` takes seconds. This limit is for the slowest disks. */
const READY_LIMIT_MS = 300_000;
const SLOW_MS = 5_000;
const LOOK_EVERY_MS = 10;
const PORT_ATTEMPTS = 5;

/**
 * Runs the postmaster on `port`; or else on its last port, so that commands beside it find it
 * again; or else on a free one. Waits until it accepts connections.
 */
export async function launchServer(deps: Deps, port?: number): Promise<Server> {
  if (port !== undefined) return launchOn(port, deps);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const lastPort = attempt === 1 ? await findLastPort(deps.cluster) : undefined;
      return await launchOn(lastPort ?? (await freePort()), deps);
    } catch (error) {
      // Somebody may take the port between our check and PostgreSQL's start.
      if (!(error instanceof PortTaken) || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

class PortTaken extends Error {}

async function launchOn(port: number, deps: Deps): Promise<Server> {
  const { serverLog } = deps;
  const offset = await serverLog.size();
  const child = spawnServer(port, deps);
  await once(child, "spawn");
  // From here on the exit event tells all. An error while sending a signal does not matter.
  child.on("error", () => {});
  try {
    await untilReady(child, deps);
  } catch (error) {
    child.kill("SIGQUIT");
    const written = await serverLog.since(offset);
    if (/could not bind|Address already in use/i.test(written)) {
      throw new PortTaken(`Port ${port} for PostgreSQL is taken.`, { cause: error });
    }
    throw new Error(`PostgreSQL did not start: ${reasonIn(written)}`, { cause: error });
  }
  return { child, port, pid: child.pid ?? 0 };
}

function spawnServer(port: number, deps: Deps): ChildProcess {
  const { cluster, clusterName, binaries, account, settings, serverLog } = deps;
  const args = settingArguments({ port, clusterName, overrides: settings });
  return spawn(binaries.postgres, ["-D", folderArgument(cluster), ...args], {
    cwd: cluster,
    env: CLEAN_ENVIRONMENT,
    stdio: ["ignore", serverLog.fd, serverLog.fd],
    windowsHide: true,
    // Its own session: Ctrl-C in the terminal is for the service, which stops PostgreSQL last.
    detached: true,
    ...account,
  });
}

async function untilReady(child: ChildProcess, deps: Deps): Promise<void> {
  const { cluster, clock, log } = deps;
  const start = clock.monotonicMs();
  let toldSlow = false;
  for (;;) {
    const file = await findPostmasterFile(cluster);
    // Checked after the file: a listener added later would never hear of an exit before it.
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("The process ended.");
    if (file?.pid === child.pid && file?.isReady) return;
    const waitedMs = clock.monotonicMs() - start;
    if (waitedMs > READY_LIMIT_MS) throw new Error(`Not ready within ${READY_LIMIT_MS / 1000} s.`);
    if (waitedMs > SLOW_MS && !toldSlow) {
      toldSlow = true;
      log.info({}, "PostgreSQL is still starting; after a crash it first replays its log");
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** The last complaint in the log. */
function reasonIn(written: string): string {
  const lines = written.trim().split("\n");
  return (
    lines.findLast((line) => /FATAL|PANIC|ERROR/.test(line)) ?? lines.at(-1) ?? "it said nothing"
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("No free port on loopback.");
  return address.port;
}
