import { accountOf } from "#messages";
import type { Lanes } from "./lanes.ts";

/** Lanes known to have something due. What finds no place here is found by a later walk. */
export type NamedLanes = {
  add(hostKey: bigint): void;
  delete(hostKey: bigint): void;
  has(hostKey: bigint): boolean;
  isEmpty(): boolean;
  /** Those that may be tried; forgets what waits for a probe, and what is beyond an account's share. */
  sift(): bigint[];
};

/** Of the proven, and of all others: strangers take no place from those that are known to be healthy. */
const PLACES = 10_000;
/** Accounts share the places as if there were so many more of them. */
const ABSENT_ACCOUNTS = 15;

/** How many lanes of each account are named. */
type Pool = Map<bigint, number>;

export function namedLanes(lanes: Pick<Lanes, "healthOf" | "mayTry">): NamedLanes {
  const named = new Map<bigint, Pool>();
  const proven: Pool = new Map();
  const others: Pool = new Map();

  function add(hostKey: bigint): void {
    if (named.has(hostKey) || !lanes.mayTry(hostKey)) return;
    const pool = lanes.healthOf(hostKey) === "proven" ? proven : others;
    const own = pool.get(accountOf(hostKey)) ?? 0;
    if (own >= shareOf(pool)) return;
    named.set(hostKey, pool);
    pool.set(accountOf(hostKey), own + 1);
  }

  function remove(hostKey: bigint): void {
    const pool = named.get(hostKey);
    if (pool === undefined) return;
    named.delete(hostKey);
    const own = (pool.get(accountOf(hostKey)) ?? 0) - 1;
    if (own > 0) pool.set(accountOf(hostKey), own);
    else pool.delete(accountOf(hostKey));
  }

  function mayStay(hostKey: bigint, pool: Pool): boolean {
    return lanes.mayTry(hostKey) && (pool.get(accountOf(hostKey)) ?? 0) <= shareOf(pool);
  }

  return {
    add,
    delete: remove,
    has: (hostKey) => named.has(hostKey),
    isEmpty: () => named.size === 0,
    sift() {
      for (const [hostKey, pool] of named) if (!mayStay(hostKey, pool)) remove(hostKey);
      return [...named.keys()];
    },
  };
}

/** For each account at least one, so that whoever has none finds a place whatever others have. */
function shareOf(pool: Pool): number {
  return Math.max(1, Math.floor(PLACES / (pool.size + ABSENT_ACCOUNTS)));
}
