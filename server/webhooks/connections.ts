import { accountOf } from "#messages/host-key";
import type { Egress } from "./egress/connect.ts";
import type { CallbackUrl } from "./egress/judge-url.ts";
import { Connection } from "./connection.ts";

/** The connections of one lane. Lanes share none: a poisoned one hurts only its own account. */
type Pool = { idle: Connection[]; busy: Set<Connection>; lastUsedMs: number };

export type Connections = {
  /** An open idle connection if there is one, otherwise a new one. */
  take(hostKey: bigint, url: CallbackUrl): Connection;
  /** A connection that was certainly not open before. */
  takeNew(hostKey: bigint, url: CallbackUrl): Connection;
  /** The attempt is over: keeps the connection idle for `keepMs`, or ends it if that is 0. */
  release(hostKey: bigint, connection: Connection, keepMs: number): void;
  count(): { pools: number; idle: number; busy: number };
  /** Ends every connection, and every one taken later; their attempts end at once. */
  close(): void;
};

/** Far more lanes than can be busy at once; a new pool replaces the least recently used. */
const MAX_POOLS = 1_000;

const POOL_IDLE_MS = 60_000;
const SWEEP_MS = 5_000;

export function connections(egress: Egress, { maxPools = MAX_POOLS } = {}): Connections {
  const { clock } = egress;
  const pools = new Map<bigint, Pool>();
  let cancelSweep: (() => void) | undefined;
  let isClosed = false;

  function poolOf(hostKey: bigint): Pool {
    const known = pools.get(hostKey);
    if (known !== undefined) return known;
    if (pools.size >= maxPools) dropLeastRecentlyUsed();
    const pool = { idle: [], busy: new Set<Connection>(), lastUsedMs: clock.monotonicMs() };
    pools.set(hostKey, pool);
    cancelSweep ??= clock.timer(SWEEP_MS, sweep);
    return pool;
  }

  /** Relies on the map being in order of last use. */
  function dropLeastRecentlyUsed(): void {
    for (const [hostKey, pool] of pools) if (pool.busy.size === 0) return drop(hostKey, pool);
  }

  function drop(hostKey: bigint, pool: Pool): void {
    pools.delete(hostKey);
    for (const connection of pool.idle.splice(0)) connection.end();
  }

  function sweep(): void {
    const nowMs = clock.monotonicMs();
    for (const [hostKey, pool] of pools) {
      for (const connection of pool.idle.filter(({ idleUntilMs }) => idleUntilMs <= nowMs))
        connection.end();
      if (pool.busy.size === 0 && pool.lastUsedMs <= nowMs - POOL_IDLE_MS) drop(hostKey, pool);
    }
    cancelSweep = pools.size > 0 ? clock.timer(SWEEP_MS, sweep) : undefined;
  }

  /** An idle connection that ended is useless. */
  function onIdleLost(hostKey: bigint, connection: Connection): void {
    const idle = pools.get(hostKey)?.idle ?? [];
    const index = idle.indexOf(connection);
    if (index !== -1) idle.splice(index, 1);
  }

  function takeNew(hostKey: bigint, url: CallbackUrl): Connection {
    const own = { ...egress, account: accountOf(hostKey) };
    const connection = new Connection(url, own, (lost) => onIdleLost(hostKey, lost));
    if (isClosed) connection.end();
    else poolOf(hostKey).busy.add(connection);
    return connection;
  }

  function take(hostKey: bigint, url: CallbackUrl): Connection {
    const pool = pools.get(hostKey);
    const connection = pool && takeIdle(pool.idle, url.origin, clock.monotonicMs());
    if (pool === undefined || connection === undefined) return takeNew(hostKey, url);
    pool.busy.add(connection);
    return connection;
  }

  function release(hostKey: bigint, connection: Connection, keepMs: number): void {
    const pool = pools.get(hostKey);
    pool?.busy.delete(connection);
    if (pool === undefined || keepMs <= 0 || connection.hasEnded) return connection.end();
    pool.lastUsedMs = clock.monotonicMs();
    pools.delete(hostKey);
    pools.set(hostKey, pool);
    connection.idleUntilMs = pool.lastUsedMs + keepMs;
    pool.idle.push(connection);
  }

  return {
    take,
    takeNew,
    release,
    count() {
      const all = [...pools.values()];
      const idle = all.reduce((sum, pool) => sum + pool.idle.length, 0);
      const busy = all.reduce((sum, pool) => sum + pool.busy.size, 0);
      return { pools: all.length, idle, busy };
    },
    close() {
      isClosed = true;
      cancelSweep?.();
      const open = [...pools.values()].flatMap(({ idle, busy }) => idle.concat(...busy));
      pools.clear();
      for (const connection of open) connection.end();
    },
  };
}

/** Takes the one used last, so that surplus connections stay idle and close. */
function takeIdle(idle: Connection[], origin: string, nowMs: number): Connection | undefined {
  const fits = (connection: Connection) =>
    connection.url.origin === origin && connection.idleUntilMs > nowMs;
  const last = idle.at(-1);
  // Nearly always the last fits: a lane has several origins only if ports or schemes differ.
  if (last !== undefined && fits(last)) return idle.pop();
  const index = idle.findLastIndex(fits);
  return index === -1 ? undefined : idle.splice(index, 1)[0];
}
