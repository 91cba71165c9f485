import type { Egress } from "./egress/connect.ts";
import type { CallbackUrl } from "./egress/judge-url.ts";
import { Line } from "./line.ts";

/** The connections of one lane. Lanes share none: a poisoned connection hurts its own account only. */
type Pool = { idle: Line[]; busy: Set<Line>; lastUsedMs: number };

export type Lines = {
  /** A line that is open and idle where there is one, else a new one. */
  take(hostKey: bigint, url: CallbackUrl): Line;
  /** A line that surely was not open before. */
  takeNew(hostKey: bigint, url: CallbackUrl): Line;
  /** The attempt is over: the line waits for the next one as long as told, or is ended where that is 0. */
  release(hostKey: bigint, line: Line, keepMs: number): void;
  count(): { pools: number; idle: number; busy: number };
  /** Ends every line, and those taken later; attempts on them end at once. */
  close(): void;
};

/** More lanes than can be busy at once by far; the least recently used makes room for a new one. */
const MAX_POOLS = 1_000;

const POOL_IDLE_MS = 60_000;
const SWEEP_MS = 5_000;

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
    for (const line of pool.idle.splice(0)) line.end();
  }

  function sweep(): void {
    const nowMs = clock.monotonicMs();
    for (const [hostKey, pool] of pools) {
      for (const line of pool.idle.filter(({ idleUntilMs }) => idleUntilMs <= nowMs)) line.end();
      if (pool.busy.size === 0 && pool.lastUsedMs <= nowMs - POOL_IDLE_MS) drop(hostKey, pool);
    }
    cancelSweep = pools.size > 0 ? clock.timer(SWEEP_MS, sweep) : undefined;
  }

  /** An idle line that ended is of no use any more. */
  function onIdleLost(hostKey: bigint, line: Line): void {
    const idle = pools.get(hostKey)?.idle ?? [];
    const index = idle.indexOf(line);
    if (index !== -1) idle.splice(index, 1);
  }

  function takeNew(hostKey: bigint, url: CallbackUrl): Line {
    const line = new Line(url, egress, (lost) => onIdleLost(hostKey, lost));
    if (isClosed) line.end();
    else poolOf(hostKey).busy.add(line);
    return line;
  }

  function take(hostKey: bigint, url: CallbackUrl): Line {
    const pool = pools.get(hostKey);
    const line = pool && takeIdle(pool.idle, url.origin, clock.monotonicMs());
    if (pool === undefined || line === undefined) return takeNew(hostKey, url);
    pool.busy.add(line);
    return line;
  }

  function release(hostKey: bigint, line: Line, keepMs: number): void {
    const pool = pools.get(hostKey);
    pool?.busy.delete(line);
    if (pool === undefined || keepMs <= 0 || line.hasEnded) return line.end();
    pool.lastUsedMs = clock.monotonicMs();
    line.idleUntilMs = pool.lastUsedMs + keepMs;
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
    close() {
      isClosed = true;
      cancelSweep?.();
      const open = [...pools.values()].flatMap(({ idle, busy }) => idle.concat(...busy));
      pools.clear();
      for (const line of open) line.end();
    },
  };
}

/** The one used last: those above the present need fall idle and close. */
function takeIdle(idle: Line[], origin: string, nowMs: number): Line | undefined {
  const fits = (line: Line) => line.url.origin === origin && line.idleUntilMs > nowMs;
  const last = idle.at(-1);
  // Nearly always the last; a lane has several origins only where ports or schemes differ.
  if (last !== undefined && fits(last)) return idle.pop();
  const index = idle.findLastIndex(fits);
  return index === -1 ? undefined : idle.splice(index, 1)[0];
}
