import type { Egress } from "./egress/connect.ts";
import type { CallbackUrl } from "./egress/judge-url.ts";
import { type Line, openLine } from "./line.ts";

/** The connections of one lane. Lanes share none: a poisoned connection hurts its own account only. */
type Pool = { idle: Line[]; busy: Set<Line>; lastUsedMs: number };

export type Lines = {
  /** A line that is open and idle where there is one, else a new one. */
  take(hostKey: bigint, url: CallbackUrl): Line;
  /** A line that surely was not open before. */
  takeNew(hostKey: bigint, url: CallbackUrl): Line;
  /** The attempt is over. A line that is not sound is ended, else it waits for the next attempt. */
  release(hostKey: bigint, line: Line, isSound: boolean): void;
  count(): { pools: number; idle: number; busy: number };
  /** Ends every line, and those taken later; attempts on them end at once. */
  close(): Promise<void>;
};

/** More lanes than can be busy at once by far; the least recently used makes room for a new one. */
const MAX_POOLS = 1_000;

const POOL_IDLE_MS = 60_000;
const SWEEP_MS = 10_000;

export function lines(egress: Egress, { maxPools = MAX_POOLS } = {}): Lines {
  const { clock } = egress;
  const pools = new Map<bigint, Pool>();
  let cancelSweep: (() => void) | undefined;
  let isClosed = false;

  function poolOf(hostKey: bigint): Pool {
    const known = pools.get(hostKey);
    if (known !== undefined) return known;
    if (pools.size >= maxPools) dropLeastRecentlyUsed();
    const pool = { idle: [], busy: new Set<Line>(), lastUsedMs: clock.monotonicMs() };
    pools.set(hostKey, pool);
    cancelSweep ??= clock.timer(SWEEP_MS, sweep);
    return pool;
  }

  function dropLeastRecentlyUsed(): void {
    const unused = [...pools].filter(([, { busy }]) => busy.size === 0);
    const [oldest] = unused.toSorted(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (oldest !== undefined) drop(...oldest);
  }

  function drop(hostKey: bigint, pool: Pool): void {
    pools.delete(hostKey);
    for (const line of pool.idle.splice(0)) end(line);
  }

  function sweep(): void {
    const oldestMs = clock.monotonicMs() - POOL_IDLE_MS;
    for (const [hostKey, pool] of pools) {
      if (pool.busy.size === 0 && pool.lastUsedMs <= oldestMs) drop(hostKey, pool);
    }
    cancelSweep = pools.size > 0 ? clock.timer(SWEEP_MS, sweep) : undefined;
  }

  /** An idle line that the receiver closed is of no use any more. */
  function onClosed(hostKey: bigint, line: Line): void {
    const idle = pools.get(hostKey)?.idle ?? [];
    const index = idle.indexOf(line);
    if (index === -1) return;
    idle.splice(index, 1);
    end(line);
  }

  function takeNew(hostKey: bigint, url: CallbackUrl): Line {
    const line = openLine(url, egress, (closed) => onClosed(hostKey, closed));
    if (isClosed) end(line);
    else poolOf(hostKey).busy.add(line);
    return line;
  }

  function take(hostKey: bigint, url: CallbackUrl): Line {
    const pool = pools.get(hostKey);
    // The one used last: those above the present need fall idle and close.
    const index = pool?.idle.findLastIndex((line) => line.url.origin === url.origin) ?? -1;
    const [line] = pool?.idle.splice(index, index === -1 ? 0 : 1) ?? [];
    if (pool === undefined || line === undefined) return takeNew(hostKey, url);
    pool.busy.add(line);
    return line;
  }

  function release(hostKey: bigint, line: Line, isSound: boolean): void {
    const pool = pools.get(hostKey);
    pool?.busy.delete(line);
    if (pool === undefined || !isSound) return end(line);
    pool.lastUsedMs = clock.monotonicMs();
    pool.idle.push(line);
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
    async close() {
      isClosed = true;
      cancelSweep?.();
      const open = [...pools.values()].flatMap(({ idle, busy }) => idle.concat(...busy));
      pools.clear();
      await Promise.all(open.map(({ client }) => client.destroy()));
    },
  };
}

/** Also while it connects: then the socket that comes too late is destroyed. */
function end(line: Line): void {
  void line.client.destroy();
}
