import { type Health, type LaneHealth, newHealth } from "./lane-health.ts";
import { isSuccess, type Outcome } from "./outcome.ts";

export type Account = { lanes: number; inFlight: number; unproven: number; lastTurn: number };

/** One account's way to one host, as this node has seen it. */
export type Lane = {
  readonly hostKey: bigint;
  readonly account: Account;
  state: LaneHealth;
  /** Slots granted and attempts under way. */
  inFlight: number;
  /** Whether `inFlight` is counted among the unproven. */
  isUnproven: boolean;
  lastTurn: number;
  origin: string;
  ok: number;
  failed: number;
  lastOkAt: Date | null;
  recentMs: number[];
};

/** What people see of a lane. */
export type LaneReport = {
  hostKey: bigint;
  origin: string;
  health: Health;
  since: Date;
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
    origin: "",
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

export function report(lane: Lane, { nowMs, now }: { nowMs: number; now: Date }): LaneReport {
  const { hostKey, origin, state, ok, failed, lastOkAt, recentMs } = lane;
  const since = new Date(now.getTime() - (nowMs - state.sinceMs));
  const sorted = recentMs.toSorted((a, b) => a - b);
  const p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
  return { hostKey, origin, health: state.health, since, ok, failed, p95Ms, lastOkAt };
}
