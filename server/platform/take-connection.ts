import type pg from "pg";
import { systemClock } from "./clock.ts";
import { CONNECT_TIMEOUT_MS } from "./pool-config.ts";
import type { PoolMeter } from "./pool-metrics.ts";
import type { Primary } from "./primary.ts";
import {
  type AbsenceTeller,
  asUnavailable,
  DatabaseUnavailable,
  isServerFull,
} from "./unavailable.ts";

/** What a database takes its connections from. */
export type Source = {
  pool: pg.Pool;
  /** The pool's connections, and their maximum number. */
  open: ReadonlySet<pg.PoolClient>;
  most: number;
  primary: Primary;
  meter: PoolMeter;
  absence: AbsenceTeller;
};

/** After a server had no connections left, nobody asks it for more for this long. */
const FULL_MS = 1_000;

/** Tries each host once, so that nobody is refused because one of them is dead. */
export async function takeConnection(source: Source): Promise<pg.PoolClient> {
  const { pool, primary, meter, absence } = source;
  const refusals: string[] = [];
  for (let hosts = 1; ; hosts += 1) {
    const tried = primary.position();
    try {
      const client = await takeOrShare(source);
      absence.reached();
      return client;
    } catch (error) {
      meter.failed("connect");
      const unavailable = unreachable(error);
      // We closed the pool ourselves: that says nothing about the host and needs no report.
      if (pool.ending) unavailable.isTold = true;
      if (pool.ending || isPoolBusy(error)) throw unavailable;
      primary.advance(tried);
      refusals.push(primary.refusal(tried, unavailable));
      if (hosts < primary.count) continue;
      const { cause } = unavailable;
      const noneThere = new DatabaseUnavailable(refusals.join("; "), { cause });
      absence.failed(noneThere);
      throw noneThere;
    }
  }
}

/** If others use up the server's connections, waits for one that we already have. */
async function takeOrShare(source: Source): Promise<pg.PoolClient> {
  const { pool, open } = source;
  const sharesUntilMs = systemClock.monotonicMs() + CONNECT_TIMEOUT_MS;
  for (;;) {
    try {
      return await pool.connect();
    } catch (error) {
      const mayShare = open.size > 0 && systemClock.monotonicMs() < sharesUntilMs;
      if (!mayShare || !isServerFull(unreachable(error))) throw error;
      shareOpen(source);
    }
  }
}

/** For a while, limits the pool to the connections that it has. */
function shareOpen({ pool, open, most }: Source): void {
  pool.options.max = open.size;
  systemClock.timer(FULL_MS, () => (pool.options.max = most));
}

/** Whatever the cause, even a wrong password: nothing was sent, so the caller may try again. */
function unreachable(error: unknown): DatabaseUnavailable {
  // The driver's message blames the connection, which would make people check the network.
  if (isPoolBusy(error))
    return new DatabaseUnavailable("no database connection was free in time", { cause: error });
  return asUnavailable(error) ?? new DatabaseUnavailable(String(error), { cause: error });
}

/** All connections were in use for too long, which says nothing about the host. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}
