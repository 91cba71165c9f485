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

/** Where the connections of a database come from. */
export type Source = {
  pool: pg.Pool;
  /** Its connections, and how many it may have. */
  open: ReadonlySet<pg.PoolClient>;
  most: number;
  primary: Primary;
  meter: PoolMeter;
  absence: AbsenceTeller;
};

/** For so long nobody asks a server for more connections that had none left. */
const FULL_MS = 1_000;

/** Tries each host once, so that a dead one among them is nobody's refusal. */
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
      // Closed on purpose: that says nothing about the host, and nobody need be told.
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

/** Where others have all that the server can give, waits for a connection of our own. */
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

/** For a while the pool asks for no more than it has. */
function shareOpen({ pool, open, most }: Source): void {
  pool.options.max = open.size;
  systemClock.timer(FULL_MS, () => (pool.options.max = most));
}

/** Whatever it was, a wrong password included: nothing was sent, and it may be asked again. */
function unreachable(error: unknown): DatabaseUnavailable {
  // The driver speaks of a connection that could not be made, which would send people to the network.
  if (isPoolBusy(error))
    return new DatabaseUnavailable("no database connection was free in time", { cause: error });
  return asUnavailable(error) ?? new DatabaseUnavailable(String(error), { cause: error });
}

/** All connections were lent out for too long: that says nothing about the host. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}
