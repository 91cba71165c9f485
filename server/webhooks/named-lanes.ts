import { accountOf } from "#messages";
import { increase } from "./counts.ts";
import type { Lanes } from "./lanes.ts";

/** Lanes known to have something due. A later walk finds those that get no place here. */
export type NamedLanes = {
  add(hostKey: bigint): void;
  delete(hostKey: bigint): void;
  /**
   * Names served lanes that may have more again. Lanes that found no place go first, and served
   * ones wait instead: otherwise lanes with a lasting backlog would keep theirs for ever.
   */
  addServed(hostKeys: readonly bigint[]): void;
  has(hostKey: bigint): boolean;
  isEmpty(): boolean;
  /** Lanes that may be tried. Drops those that wait for a probe or exceed an account's share. */
  sift(): bigint[];
};

/** Places for proven lanes, and as many for all others: strangers take none from healthy ones. */
const PLACES = 10_000;
/** Places are shared as if this many more accounts had lanes, so that a new one finds some free. */
const ABSENT_ACCOUNTS = 15;

/** The most lanes per account that are remembered as having found no place. */
const MAX_REFUSED = 1_000;

/** Per account: how many lanes are named, and which found no place, the longest waiting first. */
type Pool = { named: Map<bigint, number>; refused: Map<bigint, Set<bigint>> };

export function namedLanes(lanes: Pick<Lanes, "healthOf" | "mayTry">): NamedLanes {
  const named = new Map<bigint, Pool>();
  const proven: Pool = { named: new Map(), refused: new Map() };
  const others: Pool = { named: new Map(), refused: new Map() };

  const poolOf = (hostKey: bigint) => (lanes.healthOf(hostKey) === "proven" ? proven : others);

  function add(hostKey: bigint): void {
    if (named.has(hostKey) || !lanes.mayTry(hostKey)) return;
    const pool = poolOf(hostKey);
    const account = accountOf(hostKey);
    if (namedOf(pool, hostKey) >= shareOf(pool)) {
      const refused = pool.refused.getOrInsertComputed(account, () => new Set());
      if (refused.size < MAX_REFUSED) refused.add(hostKey);
      return;
    }
    pool.refused.get(account)?.delete(hostKey);
    named.set(hostKey, pool);
    increase(pool.named, account, 1);
  }

  function addServed(hostKeys: readonly bigint[]): void {
    for (const hostKey of hostKeys) {
      const refused = poolOf(hostKey).refused.get(accountOf(hostKey));
      const [next] = refused ?? [];
      if (next !== undefined) {
        refused?.delete(next);
        add(next);
      }
      add(hostKey);
    }
  }

  function remove(hostKey: bigint): void {
    const pool = named.get(hostKey);
    if (pool === undefined) return;
    named.delete(hostKey);
    increase(pool.named, accountOf(hostKey), -1);
  }

  function mayStay(hostKey: bigint, pool: Pool): boolean {
    return lanes.mayTry(hostKey) && namedOf(pool, hostKey) <= shareOf(pool);
  }

  return {
    add,
    delete: remove,
    addServed,
    has: (hostKey) => named.has(hostKey),
    isEmpty: () => named.size === 0,
    sift() {
      for (const [hostKey, pool] of named) if (!mayStay(hostKey, pool)) remove(hostKey);
      for (const pool of [proven, others]) forgetRefused(pool);
      return [...named.keys()];
    },
  };
}

/** Forgets the refused lanes of fully served accounts: a lane found now gets a place. */
function forgetRefused({ named, refused }: Pool): void {
  for (const account of refused.keys()) if (!named.has(account)) refused.delete(account);
}

/** At least one per account, so that a new account finds a place whatever others have. */
function shareOf(pool: Pool): number {
  return Math.max(1, Math.floor(PLACES / (pool.named.size + ABSENT_ACCOUNTS)));
}

function namedOf(pool: Pool, hostKey: bigint): number {
  return pool.named.get(accountOf(hostKey)) ?? 0;
}
