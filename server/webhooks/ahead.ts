import { accountOf } from "#messages";
import { increase } from "./counts.ts";
import { caps } from "./lane-slots.ts";
import type { Lanes } from "./lanes.ts";

/** Deliveries that this node has leased before there is a slot for them. */
export type Ahead = {
  /** Counts this many more as held in a lane; a negative count removes. */
  add(hostKey: bigint, count: number): void;
  held(hostKey: bigint): number;
  /** Whether one more may be held. */
  hasRoom(hostKey: bigint): boolean;
  /** Whether so few are held that a claim is worthwhile. */
  isShort(hostKey: bigint): boolean;
  /** How many more to claim per lane. Accounts get equal shares, and so do the lanes of each. */
  deal(hostKeys: readonly bigint[]): Map<bigint, number>;
};

/** Eight per slot: a claim has to stay small, and what waits for long is given back. */
const MOST = { all: 8 * caps.all, account: 8 * caps.account };

export function aheadKeeper(lanes: Pick<Lanes, "aheadOf">): Ahead {
  const ofLane = new Map<bigint, number>();
  const ofAccount = new Map<bigint, number>();
  let all = 0;

  const held = (hostKey: bigint) => ofLane.get(hostKey) ?? 0;
  const heldBy = (account: bigint) => ofAccount.get(account) ?? 0;

  function add(hostKey: bigint, count: number): void {
    increase(ofLane, hostKey, count);
    increase(ofAccount, accountOf(hostKey), count);
    all += count;
  }

  function deal(hostKeys: readonly bigint[]): Map<bigint, number> {
    const ready = hostKeys.filter((hostKey) => lanes.aheadOf(hostKey) > 0);
    const accounts = [...Map.groupBy(ready, accountOf)];
    const slots = Math.min(caps.account, caps.all / accounts.length);
    const wishes = accounts.map(([account, own]) => {
      const mostOf = (hostKey: bigint) => lanes.aheadOf(hostKey, slots / own.length);
      const wanted = own.map((hostKey) => refill(held(hostKey), mostOf(hostKey)));
      const inAll = wanted.reduce((total, each) => total + each, 0);
      return { own, wanted, most: Math.min(inAll, refill(heldBy(account), MOST.account)) };
    });
    const shares = dealOut(
      refill(all, MOST.all),
      wishes.map(({ most }) => most),
    );
    return new Map(
      wishes.flatMap(({ own, wanted }, n) => {
        const dealt = dealOut(shares[n] ?? 0, wanted);
        return own.map((hostKey, m) => [hostKey, dealt[m] ?? 0] as const);
      }),
    );
  }

  return {
    add,
    held,
    hasRoom: (hostKey) =>
      held(hostKey) < lanes.aheadOf(hostKey) &&
      heldBy(accountOf(hostKey)) < MOST.account &&
      all < MOST.all,
    isShort: (hostKey) =>
      refill(held(hostKey), lanes.aheadOf(hostKey)) > 0 &&
      refill(heldBy(accountOf(hostKey)), MOST.account) > 0 &&
      refill(all, MOST.all) > 0,
    deal,
  };
}

/** Refills only once half is gone: a few large claims cost less than many small ones. */
function refill(held: number, most: number): number {
  return 2 * held <= most ? most - held : 0;
}

/** A wish below its share leaves the rest to the wishes after it. */
function dealOut(most: number, wishes: number[]): number[] {
  let left = most;
  return wishes.map((wish, n) => {
    const given = Math.min(wish, Math.ceil(left / (wishes.length - n)));
    left -= given;
    return given;
  });
}
