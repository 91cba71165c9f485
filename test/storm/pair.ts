import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DataDirLock, lockDataDir, silentLog, systemClock } from "#platform";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../server/platform/embedded-postgres.ts";
import { ask, dataFolder } from "../support/data-folder.ts";
import { freePort } from "../support/process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

export type Pair = AsyncDisposable & {
  /** The URL of both hosts: clients find the primary. */
  url: string;
  nodeUrl: string;
  pid(): number;
  /** From now on nothing reaches the standby; no connection is closed, so nobody notices. */
  cutStandby(): void;
  killPrimary(): void;
  promote(): Promise<void>;
};

const SETTINGS = { shared_buffers: "32MB" };

/** A primary that confirms no commit before its standby has it. The standby is an offline copy. */
export async function startPair(): Promise<Pair> {
  await using built = new AsyncDisposableStack();
  const one = built.use(await dataFolder());
  {
    await using made = await one.start();
    await ask(made.url, "select 1");
  }
  await appendFile(
    join(one.path, "postgresql", "pg_hba.conf"),
    "host replication all 127.0.0.1/32 scram-sha-256\n",
  );
  const two = built.use(await dataFolder({ copyOf: one.path }));
  await writeFile(join(two.path, "postgresql", "standby.signal"), "");

  const primary = await start(built, one.path, { synchronous_standby_names: "*" });
  const link = built.use(await startTcpProxy({ host: "127.0.0.1", port: primary.port }));
  const { password } = new URL(primary.url);
  const standby = await start(built, two.path, {
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=posthorn password=${password}`,
  });
  await untilSynchronous(primary.url);
  const both = primary.url.replace(
    `127.0.0.1:${primary.port}`,
    `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`,
  );
  const kept = built.move();
  return {
    url: both,
    nodeUrl: both,
    pid: () => primary.pid,
    cutStandby: () => link.hold(),
    killPrimary: () => void process.kill(primary.pid, "SIGKILL"),
    async promote() {
      await ask(standby.url, "select pg_promote()");
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function start(
  built: AsyncDisposableStack,
  path: string,
  settings: Record<string, string>,
): Promise<EmbeddedPostgres> {
  const lock: DataDirLock = lockDataDir(path);
  built.defer(() => lock.release());
  const postgres = await startEmbeddedPostgres({
    lock,
    clock: systemClock,
    log: silentLog,
    port: await freePort(),
    settings: { ...SETTINGS, ...settings },
  });
  built.defer(() => postgres.stop());
  return postgres;
}

async function untilSynchronous(url: string): Promise<void> {
  for (;;) {
    const rows = await ask<{ state: string }>(
      url,
      "select sync_state as state from pg_stat_replication",
    );
    if (rows[0]?.state === "sync") return;
    await systemClock.sleep(50);
  }
}
