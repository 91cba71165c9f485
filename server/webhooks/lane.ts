import { type Health, type LaneHealth, newHealth } from "./lane-health.ts";
import { isSuccess, type Outcome } from "./outcome.ts";
import type { SharedSlots } from "./shared-slots.ts";

export type Account = {
  lanes: number;
  readonly all: SharedSlots<Lane>;
  readonly unproven: SharedSlots<Lane>;
  lastTurn: number;
  /** When one of its lanes that was proven last failed in TLS. Monotonic. */
  brokeTlsMs: number;
};

/**
 * One account's way to one host, as this node has seen it. A host is a scheme, a name and a port; people see
 * the lanes of an account as its hosts. A host key (`hostKeyOf`) is a lane's, not a host's: other accounts
 * have another one for the same host. A host name is shared by the lanes of all accounts.
 */
export type Lane = {
  readonly hostKey: bigint;
  readonly account: Account;
  state: LaneHealth;
  /** Slots granted and attempts under way. */
  inFlight: number;
  /** Whether `inFlight` is counted among the unproven. */
  isUnproven: boolean;
  lastTurn: number;
  /** The replay that it was last probed for before its time. */
  probedFor: string | null;
  /** Where its last attempt went. */
  place: Place | null;
  /** Since they were last reported. */
  ok: number;
  failed: number;
  lastOkAt: Date | null;
  recentMs: number[];
};

/** Where an attempt goes: the name is shared by all accounts that call it. */
export type Place = { accountId: string; hostname: string; origin: string };

/** What people see of a lane. */
export type LaneReport = {
  hostKey: bigint;
  accountId: string;
  origin: string;
  health: Health;
  since: Date;
  /** Attempts since the last report. */
  ok: number;
  failed: number;
  p95Ms: number | null;
  lastOkAt: Date | null;
};

/** Enough for a 95th percentile that people look at. */
const RECENT = 32;

export function newLane(hostKey: bigint, account: Account, nowMs: number): Lane {
  return {
    hostKey,
    account,
    state: newHealth(nowMs),
    inFlight: 0,
    isUnproven: true,
    lastTurn: 0,
    probedFor: null,
    place: null,
    ok: 0,
    failed: 0,
    lastOkAt: null,
    recentMs: [],
  };
}

/** Counts an attempt for the report. */
export function note(
  lane: Lane,
  { outcome, durationMs }: { outcome: Outcome; durationMs: number },
  now: Date,
): void {
  if (isSuccess(outcome)) {
    lane.ok += 1;
    lane.lastOkAt = now;
  } else {
    lane.failed += 1;
  }
  lane.recentMs.push(durationMs);
  if (lane.recentMs.length > RECENT) lane.recentMs.shift();
}

/** What became of the lane since the last report; counting starts anew. */
export function takeReport(lane: Lane, { nowMs, now }: { nowMs: number; now: Date }): LaneReport {
  const { hostKey, place, state, ok, failed, lastOkAt, recentMs } = lane;
  const since = new Date(now.getTime() - (nowMs - state.sinceMs));
  const sorted = recentMs.toSorted((a, b) => a - b);
  const p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
  const { accountId = "", origin = "" } = place ?? {};
  lane.ok = 0;
  lane.failed = 0;
  return { hostKey, accountId, origin, health: state.health, since, ok, failed, p95Ms, lastOkAt };
}
