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
  type AttemptResult,
  capOf,
  type Health,
  healthNow,
  learn,
  recallHealth,
  type Remembered,
} from "./lane-health.ts";
import { caps, hostnameOf, type Kind, laneSlots } from "./lane-slots.ts";
import { isTlsFailure } from "./outcome.ts";
import { sharedSlots } from "./shared-slots.ts";

/** Slots taken for a lane: each must be begun or given back. */
export type Grant = { hostKey: bigint; slots: number };

export type EndedAttempt = AttemptResult & { hostKey: bigint; kind: Kind; place: Place };

export type Lanes = {
  /** Takes slots before anything is claimed, so no interleaving can exceed a cap. */
  grant(hostKeys: readonly bigint[], kind: Kind): Grant[];
  /**
   * Takes one free slot of a lane. While others wait, no lane takes more than its share this way:
   * one that goes from attempt to attempt must not starve them. The rest is granted.
   */
  take(hostKey: bigint, kind: Kind): boolean;
  giveBack(grant: Grant, kind: Kind): void;
  /** Turns a slot into an attempt. False if the host name is full: the slot is then given back. */
  begin(hostKey: bigint, kind: Kind, place: Place): boolean;
  end(attempt: EndedAttempt): void;
  /** Starts an unused lane from what was known of its host. */
  recall(hostKey: bigint, remembered: Remembered): void;
  /** Lets an open lane be tried at once on request, only once for the same replay. */
  probe(hostKey: bigint, replayId?: string): void;
  /** A test event was delivered there, which proves that an open lane answers without a probe. */
  answered(test: Omit<EndedAttempt, "kind">): void;
  healthOf(hostKey: bigint): Health;
  /**
   * Whether it is proven and no proven lane of its account failed in TLS lately. A receiver with
   * certificates that take long to verify delays all reliable ones, and another is soon proven.
   */
  isReliable(hostKey: bigint): boolean;
  /** False if nothing may begin before its next probe, whatever slots are free. */
  mayTry(hostKey: bigint): boolean;
  /**
   * How many first attempts may be claimed beyond its free slots, because they can begin soon;
   * `slots` limits the slots it is assumed to have.
   */
  aheadOf(hostKey: bigint, slots?: number): number;
  /** The lanes used since the last call. */
  takeChanges(): LaneReport[];
  /** How many lanes have each health, how many slots those have taken, and which lanes are open. */
  survey(): { healths: Map<Health, number>; busy: Map<Health, number>; open: bigint[] };
  inFlight(): { all: number; again: number; unproven: number };
};

/** Much longer than verifying a full account's worth of such certificates takes. */
const UNRELIABLE_MS = HOUR_MS;

/** A few hundred bytes each. Unused lanes are forgotten first. */
const MAX_LANES = 50_000;

type Deps = { clock: Clock; random?: () => number; maxLanes?: number };

/** Decides which lanes may send: slow, dead and greedy receivers must not delay healthy ones. */
export function laneKeeper({ clock, random = Math.random, maxLanes = MAX_LANES }: Deps): Lanes {
  const lanes = new Map<bigint, Lane>();
  const accounts = new Map<bigint, Account>();
  const slots = laneSlots();
  const changed = new Set<Lane>();
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
    return accounts.getOrInsertComputed(accountOf(hostKey), () => ({
      lanes: 0,
      all: sharedSlots(caps.account),
      unproven: sharedSlots(caps.accountUnproven),
      lastTurn: 0,
      brokeTlsMs: Number.NEGATIVE_INFINITY,
    }));
  }

  /** Relies on the map being in order of last use. A lane with slots taken is never forgotten. */
  function forgetUnused(): void {
    for (const [hostKey, lane] of lanes) {
      if (lanes.size <= maxLanes) return;
      if (lane.inFlight > 0) continue;
      lanes.delete(hostKey);
      lane.account.lanes -= 1;
      if (lane.account.lanes === 0) accounts.delete(accountOf(hostKey));
    }
  }

  function recount(lane: Lane): void {
    slots.recount(lane, healthNow(lane.state, clock.monotonicMs()) !== "proven");
  }

  function hasRoom(lane: Lane, kind: Kind, granted?: number): boolean {
    const isUnderOwnCap = lane.inFlight < capOf(lane.state, clock.monotonicMs());
    return isUnderOwnCap && slots.hasRoom(lane, kind, granted);
  }

  function grant(hostKeys: readonly bigint[], kind: Kind): Grant[] {
    const granted = new Map<Lane, number>();
    const byHostname = new Map<string, number>();
    slots.forgetRefusals(kind);
    let waiting = inTurn(hostKeys.map(laneOf));
    turn += 1;
    // One slot per account and round: an account with many lanes gets no more than one with few.
    while (waiting.length > 0) {
      for (const lanesOfAccount of waiting) {
        const lane = lanesOfAccount.shift();
        if (lane === undefined) continue;
        recount(lane);
        const hostname = hostnameOf(lane);
        if (!hasRoom(lane, kind, byHostname.get(hostname))) continue;
        slots.occupy(lane, kind, 1);
        if (lane.place) increase(byHostname, hostname, 1);
        serve(lane);
        increase(granted, lane, 1);
        lanesOfAccount.push(lane);
      }
      waiting = waiting.filter(({ length }) => length > 0);
    }
    forgetUnused();
    return [...granted].map(([{ hostKey }, count]) => ({ hostKey, slots: count }));
  }

  function take(hostKey: bigint, kind: Kind): boolean {
    const lane = laneOf(hostKey);
    recount(lane);
    if (!hasRoom(lane, kind) || slots.isGreedy(lane)) return false;
    turn += 1;
    slots.occupy(lane, kind, 1);
    serve(lane);
    return true;
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
    if (slots.isHostnameFull(hostname)) {
      slots.occupy(lane, kind, -1);
      return false;
    }
    slots.occupyHostname(hostname, lane, 1);
    return true;
  }

  function end({ hostKey, kind, place, outcome, durationMs }: EndedAttempt): void {
    const lane = laneOf(hostKey);
    slots.occupy(lane, kind, -1);
    slots.occupyHostname(place.hostname, lane, -1);
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
    giveBack: ({ hostKey, slots: count }, kind) => slots.occupy(laneOf(hostKey), kind, -count),
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
    aheadOf(hostKey, most = caps.all) {
      const lane = lanes.get(hostKey);
      return lane === undefined ? 0 : aheadOf(lane.state, clock.monotonicMs(), most);
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
    inFlight: slots.inFlight,
  };
}

/** The lanes grouped by account. Accounts and their lanes are both least recently served first. */
function inTurn(lanes: Lane[]): Lane[][] {
  const byAccount = Map.groupBy(lanes, ({ account }) => account);
  const accounts = [...byAccount].toSorted(([a], [b]) => a.lastTurn - b.lastTurn);
  return accounts.map(([, own]) => own.toSorted((a, b) => a.lastTurn - b.lastTurn));
}
