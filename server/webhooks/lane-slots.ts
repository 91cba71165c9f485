import type { Account, Lane } from "./lane.ts";
import { isBeyondShare, type SharedSlots, sharedSlots, takeSlots } from "./shared-slots.ts";

/** First attempts have slots of their own that retries and replays never take. */
export type Kind = "first" | "again";

/** Limits on attempts in flight, per node. */
export const caps = {
  /** Each attempt holds a socket and the memory of a request and its answer. */
  all: 256,
  /** Retries and replays. 64 slots stay for first attempts: a backlog cannot delay fresh events. */
  again: 192,
  /** All lanes that are not proven, together: half the slots stay for proven ones. */
  unproven: 128,
  /** Per account, whatever its hosts: eight dead ones with full lanes would fill every slot. */
  account: 64,
  /** Per account, for unproven lanes: the other slots stay for its receivers that answer. */
  accountUnproven: 16,
  /** Over all accounts, so that a receiver shared by many of them is not flooded. */
  hostname: 64,
};

/** Counts the taken slots of this node against each cap that applies to a lane. */
export function laneSlots() {
  const all = sharedSlots<Account>(caps.all);
  const unproven = sharedSlots<Account>(caps.unproven);
  const hostnames = new Map<string, SharedSlots<Lane>>();
  /** Shared slots that were refused to a lane since the last grant began. */
  const scarce = { first: new Set<object>(), again: new Set<object>() };
  let again = 0;

  function occupyUnproven(lane: Lane, slots: number): void {
    takeSlots(unproven, lane.account, slots);
    takeSlots(lane.account.unproven, lane, slots);
  }

  return {
    /** A negative count gives slots back. */
    occupy(lane: Lane, kind: Kind, slots: number): void {
      lane.inFlight += slots;
      takeSlots(all, lane.account, slots);
      takeSlots(lane.account.all, lane, slots);
      if (kind === "again") again += slots;
      if (lane.isUnproven) occupyUnproven(lane, slots);
    },

    occupyHostname(hostname: string, lane: Lane, slots: number): void {
      const shared = hostnames.getOrInsertComputed(hostname, () => sharedSlots(caps.hostname));
      takeSlots(shared, lane, slots);
      if (shared.taken === 0) hostnames.delete(hostname);
    },

    isHostnameFull: (hostname: string) => (hostnames.get(hostname)?.taken ?? 0) >= caps.hostname,

    /** Moves the lane's slots between proven and unproven when its health has changed. */
    recount(lane: Lane, isUnproven: boolean): void {
      if (isUnproven === lane.isUnproven) return;
      lane.isUnproven = isUnproven;
      occupyUnproven(lane, isUnproven ? lane.inFlight : -lane.inFlight);
    },

    /** `granted`: slots of its host name that are granted but not begun. */
    hasRoom(lane: Lane, kind: Kind, granted = 0): boolean {
      const { account } = lane;
      if (kind === "again" && again >= caps.again) return false;
      const isFull = <User>(shared: SharedSlots<User>, taken = shared.taken) => {
        if (taken < shared.cap) return false;
        scarce[kind].add(shared);
        return true;
      };
      const named = hostnames.get(hostnameOf(lane));
      if (isFull(all) || isFull(account.all)) return false;
      if (named && isFull(named, named.taken + granted)) return false;
      return !lane.isUnproven || !(isFull(account.unproven) || isFull(unproven));
    },

    /** Whether others wait for slots of which the lane, or its account, already has its share. */
    isGreedy(lane: Lane): boolean {
      const { account } = lane;
      const isScarce = <User>(shared: SharedSlots<User>, user: User) =>
        (scarce.first.has(shared) || scarce.again.has(shared)) && isBeyondShare(shared, user);
      const named = hostnames.get(hostnameOf(lane));
      if (isScarce(all, account) || isScarce(account.all, lane)) return true;
      if (named && isScarce(named, lane)) return true;
      return lane.isUnproven && (isScarce(account.unproven, lane) || isScarce(unproven, account));
    },

    /** Called when a grant begins: lanes that still find too few slots are refused again. */
    forgetRefusals: (kind: Kind) => scarce[kind].clear(),

    inFlight: () => ({ all: all.taken, again, unproven: unproven.taken }),
  };
}

/** Empty before the lane's first attempt. */
export function hostnameOf({ place }: Lane): string {
  return place?.hostname ?? "";
}
