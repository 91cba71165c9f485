import {
  type EmbeddedPostgres,
  type EmbeddedPostgresDeps,
  startEmbeddedPostgres,
} from "./embedded-postgres.ts";

/** A PostgreSQL that is restarted when it dies, at the same address, so pools just reconnect. */
export type SupervisedPostgres = {
  url: string;
  /** The current process, or the last one while there is none. */
  pid(): number;
  stop(): Promise<void>;
};

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** The first start may fail and says why. After that, PostgreSQL is restarted until `stop`. */
export async function superviseEmbeddedPostgres(
  deps: EmbeddedPostgresDeps,
): Promise<SupervisedPostgres> {
  const { url, port, ...first } = await startEmbeddedPostgres(deps);
  const stopping = new AbortController();
  let current: Pick<EmbeddedPostgres, "pid" | "onExit" | "stop"> = first;

  async function keepRunning(): Promise<void> {
    for (;;) {
      const how = await exitOf(current, stopping.signal);
      if (how === undefined) return;
      deps.log.error(
        { pid: current.pid, how },
        `PostgreSQL ended unexpectedly (${how}); starting it again`,
      );
      const next = await startAgain({ ...deps, port }, stopping.signal);
      if (next === undefined) return;
      current = next;
      deps.log.info({ pid: current.pid }, "PostgreSQL is back");
    }
  }

  const kept = keepRunning();
  return {
    url,
    pid: () => current.pid,
    async stop() {
      stopping.abort();
      await kept;
      await current.stop();
    },
  };
}

/** How it ended; undefined if `signal` aborted first. */
function exitOf(
  postgres: Pick<EmbeddedPostgres, "onExit">,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    postgres.onExit(resolve);
  });
}

async function startAgain(
  deps: EmbeddedPostgresDeps,
  signal: AbortSignal,
): Promise<EmbeddedPostgres | undefined> {
  for (
    let waitMs = FIRST_WAIT_MS;
    !signal.aborted;
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
  ) {
    try {
      return await startEmbeddedPostgres(deps);
    } catch (error) {
      deps.log.error(
        { error },
        `PostgreSQL could not be started again; next attempt in ${waitMs} ms`,
      );
      await deps.clock.sleep(waitMs, signal);
    }
  }
  return undefined;
}
