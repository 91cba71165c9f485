import { type AttemptResult, type Health, type LaneHealth, newHealth } from "./lane-health.ts";
import { isSuccess } from "./outcome.ts";
import type { SharedSlots } from "./shared-slots.ts";

export type Account = {
  lanes: number;
  readonly all: SharedSlots<Lane>;
  readonly unproven: SharedSlots<Lane>;
  lastTurn: number;
  /** When one of its proven lanes last failed in TLS. Monotonic. */
  brokeTlsMs: number;
};

/**
 * One account's way to one host, as this node sees it. A host is a scheme, a name and a port;
 * people see an account's lanes as its hosts. A host key (`hostKeyOf`) belongs to a lane, not a
 * host: accounts have different ones for the same host. A host name is shared by the lanes of all
 * accounts.
 */
export type Lane = {
  readonly hostKey: bigint;
  readonly account: Account;
  state: LaneHealth;
  /** Granted slots and attempts under way. */
  inFlight: number;
  /** Whether `inFlight` is counted among the unproven. */
  isUnproven: boolean;
  lastTurn: number;
  /** The replay for which it was last probed early. */
  probedFor: string | null;
  /** Where its last attempt went. */
  place: Place | null;
  /** Counts since the last report. */
  ok: number;
  failed: number;
  lastOkAt: Date | null;
  recentMs: number[];
};

/** Where an attempt goes. All accounts that call the host name share it. */
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

/** Enough for a 95th percentile that people read. */
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
export function note(lane: Lane, { outcome, durationMs }: AttemptResult, now: Date): void {
  if (isSuccess(outcome)) {
    lane.ok += 1;
    lane.lastOkAt = now;
  } else {
    lane.failed += 1;
  }
  lane.recentMs.push(durationMs);
  if (lane.recentMs.length > RECENT) lane.recentMs.shift();
}

/** Reports what the lane did since the last report, and resets its counts. */
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
