import { type Clock, HOUR_MS } from "#platform";
import { accountOf } from "#messages";
import { increase } from "./counts.ts";
import {
  type Account,
  type Lane,
  type LaneReport,
  newLane,
  note,
  type Place,
  takeReport,
} from "./lane.ts";
import {
  aheadOf,
  capOf,
  type Health,
  healthNow,
  learn,
  recallHealth,
  type Remembered,
} from "./lane-health.ts";
import { isTlsFailure, type Outcome } from "./outcome.ts";
import { isBeyondShare, type SharedSlots, sharedSlots, takeSlots } from "./shared-slots.ts";

/** First attempts have slots of their own, which retries and replays never take. */
export type Kind = "first" | "again";

/** Slots taken for a lane: each must be begun or given back. */
export type Grant = { hostKey: bigint; slots: number };

export type EndedAttempt = {
  hostKey: bigint;
  kind: Kind;
  place: Place;
  outcome: Outcome;
  durationMs: number;
};

export type Lanes = {
  /** Takes slots before anything is claimed, so that no interleaving can exceed a cap. */
  grant(hostKeys: readonly bigint[], kind: Kind): Grant[];
  /**
   * Takes one slot of one lane, where it is free. Where others wait for slots nobody takes more than a share
   * this way: whoever goes from one attempt to the next must not keep them waiting. The rest is granted.
   */
  take(hostKey: bigint, kind: Kind): boolean;
  giveBack(grant: Grant, kind: Kind): void;
  /** Turns a slot into an attempt. False where the host name is full: then the slot is given back. */
  begin(hostKey: bigint, kind: Kind, place: Place): boolean;
  end(attempt: EndedAttempt): void;
  /** Starts a lane that has not been used yet from what was known of its host. */
  recall(hostKey: bigint, remembered: Remembered): void;
  /** Lets an open lane be tried at once: somebody asked for it. For the same replay only once. */
  probe(hostKey: bigint, replayId?: string): void;
  /** A test event was delivered there, so an open lane need not be probed to know that it answers. */
  answered(test: Omit<EndedAttempt, "kind">): void;
  healthOf(hostKey: bigint): Health;
  /**
   * Proven, and no proven one of its account has failed in TLS of late: whoever shows certificates that take
   * long to verify holds up all that are reliable, and another receiver is soon proven.
   */
  isReliable(hostKey: bigint): boolean;
  /** False where nothing may begin before its next probe, whatever slots are free. */
  mayTry(hostKey: bigint): boolean;
  /**
   * How many first attempts may be claimed beyond its free slots, because they can begin soon; with
   * `slots`, where it has no more than these.
   */
  aheadOf(hostKey: bigint, slots?: number): number;
  /** The lanes used since the last call. */
  takeChanges(): LaneReport[];
  /** How many lanes have each health, how many slots those have taken, and which are open. */
  survey(): { healths: Map<Health, number>; busy: Map<Health, number>; open: bigint[] };
  inFlight(): { all: number; again: number; unproven: number };
};

/** Attempts in flight, per node. */
export const caps = {
  /** Each holds a socket and the memory of a request and its answer. */
  all: 256,
  /** Retries and replays: 64 slots stay for first attempts, so a backlog cannot delay fresh events. */
  again: 192,
  /** Lanes that are not proven, together: half the slots stay for those that are. */
  unproven: 128,
  /** However many hosts it has: eight dead ones with a full lane each would fill every slot. */
  account: 64,
  /** The rest of its slots stay for receivers of its own that answer. */
  accountUnproven: 16,
  /** Over all accounts, so that a receiver which many of them share is not flooded. */
  hostname: 64,
};

/** Much longer than a full account's worth of such certificates takes. */
const UNRELIABLE_MS = HOUR_MS;

/** Some hundred octets each. Lanes that nobody uses are forgotten first. */
const MAX_LANES = 50_000;

type Deps = { clock: Clock; random?: () => number; maxLanes?: number };

/** Who may go out now: keeps slow, dead and greedy receivers from delaying those that are healthy. */
export function laneKeeper({ clock, random = Math.random, maxLanes = MAX_LANES }: Deps): Lanes {
  const lanes = new Map<bigint, Lane>();
  const accounts = new Map<bigint, Account>();
  const hostnames = new Map<string, SharedSlots<Lane>>();
  /** Slots that somebody was refused since the last grant, that one included. */
  const scarce = { first: new Set<object>(), again: new Set<object>() };
  const changed = new Set<Lane>();
  const all = sharedSlots<Account>(caps.all);
  const unproven = sharedSlots<Account>(caps.unproven);
  let again = 0;
  let turn = 0;

  function laneOf(hostKey: bigint): Lane {
    const known = lanes.get(hostKey);
    if (known !== undefined) return known;
    const account = accountFor(hostKey);
    account.lanes += 1;
    const lane = newLane(hostKey, account, clock.monotonicMs());
    lanes.set(hostKey, lane);
    return lane;
  }

  function accountFor(hostKey: bigint): Account {
    const key = accountOf(hostKey);
    const known = accounts.get(key);
    if (known !== undefined) return known;
    const account: Account = {
      lanes: 0,
      all: sharedSlots(caps.account),
      unproven: sharedSlots(caps.accountUnproven),
      lastTurn: 0,
      brokeTlsMs: Number.NEGATIVE_INFINITY,
    };
    accounts.set(key, account);
    return account;
  }

  /** The map is in the order of last use. A lane with slots taken is never forgotten. */
  function forgetUnused(): void {
    for (const [hostKey, lane] of lanes) {
      if (lanes.size <= maxLanes) return;
      if (lane.inFlight > 0) continue;
      lanes.delete(hostKey);
      lane.account.lanes -= 1;
      if (lane.account.lanes === 0) accounts.delete(accountOf(hostKey));
    }
  }

  /** Moves the lane's slots between the proven and the unproven when its health has changed. */
  function recount(lane: Lane): void {
    const isUnproven = healthNow(lane.state, clock.monotonicMs()) !== "proven";
    if (isUnproven === lane.isUnproven) return;
    lane.isUnproven = isUnproven;
    occupyUnproven(lane, isUnproven ? lane.inFlight : -lane.inFlight);
  }

  function occupyUnproven(lane: Lane, slots: number): void {
    takeSlots(unproven, lane.account, slots);
    takeSlots(lane.account.unproven, lane, slots);
  }

  function occupy(lane: Lane, kind: Kind, slots: number): void {
    lane.inFlight += slots;
    takeSlots(all, lane.account, slots);
    takeSlots(lane.account.all, lane, slots);
    if (kind === "again") again += slots;
    if (lane.isUnproven) occupyUnproven(lane, slots);
  }

  function occupyHostname(hostname: string, lane: Lane, slots: number): void {
    const shared = hostnames.getOrInsertComputed(hostname, () => sharedSlots(caps.hostname));
    takeSlots(shared, lane, slots);
    if (shared.taken === 0) hostnames.delete(hostname);
  }

  /** `granted`: of its host name's slots, those not yet begun. */
  function hasRoom(lane: Lane, kind: Kind, granted = 0): boolean {
    const { account } = lane;
    if (lane.inFlight >= capOf(lane.state, clock.monotonicMs())) return false;
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
  }

  function grant(hostKeys: readonly bigint[], kind: Kind): Grant[] {
    const granted = new Map<Lane, number>();
    const byHostname = new Map<string, number>();
    scarce[kind].clear();
    let waiting = inTurn(hostKeys.map(laneOf));
    turn += 1;
    // One slot for each account, then the next round: a wide account gets no more than a narrow one.
    while (waiting.length > 0) {
      for (const lanesOfAccount of waiting) {
        const lane = lanesOfAccount.shift();
        if (lane === undefined) continue;
        recount(lane);
        const hostname = hostnameOf(lane);
        if (!hasRoom(lane, kind, byHostname.get(hostname))) continue;
        occupy(lane, kind, 1);
        if (lane.place) increase(byHostname, hostname, 1);
        serve(lane);
        increase(granted, lane, 1);
        lanesOfAccount.push(lane);
      }
      waiting = waiting.filter(({ length }) => length > 0);
    }
    forgetUnused();
    return [...granted].map(([{ hostKey }, slots]) => ({ hostKey, slots }));
  }

  function take(hostKey: bigint, kind: Kind): boolean {
    const lane = laneOf(hostKey);
    recount(lane);
    if (!hasRoom(lane, kind) || isGreedy(lane)) return false;
    turn += 1;
    occupy(lane, kind, 1);
    serve(lane);
    return true;
  }

  function isGreedy(lane: Lane): boolean {
    const { account } = lane;
    const isScarce = <User>(shared: SharedSlots<User>, user: User) =>
      (scarce.first.has(shared) || scarce.again.has(shared)) && isBeyondShare(shared, user);
    const named = hostnames.get(hostnameOf(lane));
    if (isScarce(all, account) || isScarce(account.all, lane)) return true;
    if (named && isScarce(named, lane)) return true;
    return lane.isUnproven && (isScarce(account.unproven, lane) || isScarce(unproven, account));
  }

  function serve(lane: Lane): void {
    lane.lastTurn = turn;
    lane.account.lastTurn = turn;
    lanes.delete(lane.hostKey);
    lanes.set(lane.hostKey, lane);
  }

  function begin(hostKey: bigint, kind: Kind, place: Place): boolean {
    const lane = laneOf(hostKey);
    const { hostname } = place;
    lane.place = place;
    if ((hostnames.get(hostname)?.taken ?? 0) >= caps.hostname) {
      occupy(lane, kind, -1);
      return false;
    }
    occupyHostname(hostname, lane, 1);
    return true;
  }

  function end({ hostKey, kind, place, outcome, durationMs }: EndedAttempt): void {
    const lane = laneOf(hostKey);
    occupy(lane, kind, -1);
    occupyHostname(place.hostname, lane, -1);
    const before = lane.state;
    const now = { ms: clock.monotonicMs(), random: random() };
    if (isTlsFailure(outcome) && !lane.isUnproven) lane.account.brokeTlsMs = now.ms;
    lane.state = learn(before, { outcome, durationMs }, now);
    recount(lane);
    if (lane.state === before) return;
    note(lane, { outcome, durationMs }, clock.now());
    changed.add(lane);
  }

  return {
    grant,
    take,
    giveBack: ({ hostKey, slots }, kind) => occupy(laneOf(hostKey), kind, -slots),
    begin,
    end,
    recall(hostKey, remembered) {
      if (lanes.has(hostKey) || lanes.size >= maxLanes) return;
      const lane = laneOf(hostKey);
      lane.state = recallHealth(remembered, { ms: clock.monotonicMs(), random: random() });
      recount(lane);
    },
    probe(hostKey, replayId) {
      const lane = laneOf(hostKey);
      if (replayId !== undefined && lane.probedFor === replayId) return;
      lane.probedFor = replayId ?? lane.probedFor;
      lane.state = { ...lane.state, probeAtMs: clock.monotonicMs() };
    },
    answered({ hostKey, place, outcome, durationMs }) {
      const lane = lanes.get(hostKey);
      if (lane?.state.health !== "open") return;
      lane.place = place;
      const now = { ms: clock.monotonicMs(), random: random() };
      lane.state = learn(lane.state, { outcome, durationMs }, now);
      recount(lane);
      changed.add(lane);
    },
    healthOf(hostKey) {
      const lane = lanes.get(hostKey);
      return lane === undefined ? "unproven" : healthNow(lane.state, clock.monotonicMs());
    },
    isReliable(hostKey) {
      const lane = lanes.get(hostKey);
      const nowMs = clock.monotonicMs();
      if (lane === undefined || healthNow(lane.state, nowMs) !== "proven") return false;
      return nowMs - lane.account.brokeTlsMs > UNRELIABLE_MS;
    },
    mayTry(hostKey) {
      const lane = lanes.get(hostKey);
      return lane === undefined || capOf(lane.state, clock.monotonicMs()) > 0;
    },
    aheadOf(hostKey, slots = caps.all) {
      const lane = lanes.get(hostKey);
      return lane === undefined ? 0 : aheadOf(lane.state, clock.monotonicMs(), slots);
    },
    takeChanges() {
      const nowMs = clock.monotonicMs();
      const reports = [...changed].map((lane) => takeReport(lane, { nowMs, now: clock.now() }));
      changed.clear();
      return reports;
    },
    survey() {
      const nowMs = clock.monotonicMs();
      const healths = new Map<Health, number>();
      const busy = new Map<Health, number>();
      const open: bigint[] = [];
      for (const [hostKey, { state, inFlight }] of lanes) {
        const health = healthNow(state, nowMs);
        increase(healths, health, 1);
        increase(busy, health, inFlight);
        if (health === "open") open.push(hostKey);
      }
      return { healths, busy, open };
    },
    inFlight: () => ({ all: all.taken, again, unproven: unproven.taken }),
  };
}

/** Empty before its first attempt. */
function hostnameOf({ place }: Lane): string {
  return place?.hostname ?? "";
}

/** The lanes of each account, least recently served first, and so the accounts. */
function inTurn(lanes: Lane[]): Lane[][] {
  const byAccount = Map.groupBy(lanes, ({ account }) => account);
  const accounts = [...byAccount].toSorted(([a], [b]) => a.lastTurn - b.lastTurn);
  return accounts.map(([, own]) => own.toSorted((a, b) => a.lastTurn - b.lastTurn));
}
