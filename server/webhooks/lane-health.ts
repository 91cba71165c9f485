import { DAY_MS, MINUTE_MS } from "#platform";
import { isSuccess, isTimeout, type Outcome } from "./outcome.ts";

/**
 * unproven   nothing good is known of it yet
 * proven     a fast success within the last day, and none of the states below
 * failing    fails quickly; its attempts are cheap, so the schedule is kept
 * slow       its attempts hold slots for long
 * open       nothing but time-outs; only a probe now and then
 */
export type Health = "unproven" | "proven" | "failing" | "slow" | "open";

export type LaneHealth = {
  health: Health;
  /** Monotonic, like all times here. */
  sinceMs: number;
  /** The most that may be in flight while it is proven. */
  window: number;
  failuresInRow: number;
  timeoutsInRow: number;
  /** Moving average of an attempt's duration; null before the first. */
  averageMs: number | null;
  lastFastSuccessMs: number | null;
  /** While open: when the next probe may go, and how long the wait for it is. */
  probeAtMs: number;
  probeWaitMs: number;
};

const FAST_MS = 3_000;
const PROVEN_FOR_MS = DAY_MS;
const FAILURES_TO_FAILING = 5;
const TIMEOUTS_TO_SLOW = 3;
const TIMEOUTS_TO_OPEN = 10;
/** One time-out among fast answers does not make a lane slow; two in a row do. */
const AVERAGE_WEIGHT = 0.2;

const UNPROVEN_CAP = 2;
const FIRST_WINDOW = 8;
const MAX_WINDOW = 32;

const AHEAD_MS = 1_000;
const MAX_AHEAD = 256;

const FIRST_PROBE_MS = 30_000;
const MAX_PROBE_MS = 15 * MINUTE_MS;
const PROBE_JITTER = 0.2;

export function newHealth(nowMs: number): LaneHealth {
  return {
    health: "unproven",
    sinceMs: nowMs,
    window: FIRST_WINDOW,
    failuresInRow: 0,
    timeoutsInRow: 0,
    averageMs: null,
    lastFastSuccessMs: null,
    probeAtMs: 0,
    probeWaitMs: 0,
  };
}

/** What another node, or an earlier run of this one, knew of a host. */
export type Remembered = { health: Health; lastOkAgoMs: number | null };

/** The health to start with: a healthy host is no stranger, and a dead one gets only a probe. */
export function recallHealth(
  { health, lastOkAgoMs }: Remembered,
  now: { ms: number; random: number },
): LaneHealth {
  const fresh = newHealth(now.ms);
  if (health === "proven" && lastOkAgoMs !== null)
    return { ...fresh, health, lastFastSuccessMs: now.ms - lastOkAgoMs };
  // Otherwise a receiver that was down for hours would pass for one that failed once.
  if (health === "failing") return { ...fresh, health, failuresInRow: FAILURES_TO_FAILING };
  if (health === "slow") return { ...fresh, health, timeoutsInRow: TIMEOUTS_TO_SLOW };
  if (health !== "open") return fresh;
  // Spread out, so that a thousand dead hosts are not all probed at the start.
  const probeAtMs = now.ms + FIRST_PROBE_MS * now.random;
  const timeoutsInRow = TIMEOUTS_TO_OPEN;
  return { ...fresh, health, timeoutsInRow, probeAtMs, probeWaitMs: FIRST_PROBE_MS };
}

/** The most that may be in flight now. */
export function capOf(lane: LaneHealth, nowMs: number): number {
  const health = healthNow(lane, nowMs);
  if (health === "open") return nowMs >= lane.probeAtMs ? 1 : 0;
  return health === "proven" ? lane.window : UNPROVEN_CAP;
}

/** How many more can begin soon in that many slots: claimed ahead, they wait for no claim. */
export function aheadOf(lane: LaneHealth, nowMs: number, slots: number): number {
  const { averageMs } = lane;
  const health = healthNow(lane, nowMs);
  // In other lanes a claim would probably wait in vain.
  if (averageMs === null || (health !== "proven" && health !== "failing")) return 0;
  const soon = (Math.min(slots, capOf(lane, nowMs)) * AHEAD_MS) / Math.max(1, averageMs);
  return Math.min(MAX_AHEAD, Math.floor(soon));
}

/** What was learned from attempts fades with time. */
export function healthNow(lane: LaneHealth, nowMs: number): Health {
  return lane.health === "proven" && !wasFastLately(lane, nowMs) ? "unproven" : lane.health;
}

export type AttemptResult = { outcome: Outcome; durationMs: number };

/** Learns from one attempt. Faults of ours and forbidden addresses say nothing about the host. */
export function learn(
  lane: LaneHealth,
  ended: AttemptResult,
  now: { ms: number; random: number },
): LaneHealth {
  const { outcome } = ended;
  if (outcome.kind === "our_fault" || outcome.kind === "forbidden") return lane;
  const counted = count(lane, ended, now.ms);
  const health = judge(counted, now.ms);
  const sinceMs = health === lane.health ? lane.sinceMs : now.ms;
  const wasFailure = !isSuccess(outcome);
  const window = nextWindow(lane, { health, wasFailure, wasFast: ended.durationMs < FAST_MS });
  // Attempts begun before it was open may still end: only a probe shows that the wait was short.
  const wasProbe = lane.health === "open" && now.ms - ended.durationMs >= lane.sinceMs;
  const isNewlyOpen = health === "open" && (lane.health !== "open" || wasProbe);
  const probe = isNewlyOpen ? nextProbe(lane, now) : {};
  return { ...counted, health, sinceMs, window, ...probe };
}

function count(
  lane: LaneHealth,
  { outcome, durationMs }: AttemptResult,
  nowMs: number,
): LaneHealth {
  const { averageMs } = lane;
  const average =
    averageMs === null
      ? durationMs
      : AVERAGE_WEIGHT * durationMs + (1 - AVERAGE_WEIGHT) * averageMs;
  const isOk = isSuccess(outcome);
  return {
    ...lane,
    averageMs: average,
    failuresInRow: isOk ? 0 : lane.failuresInRow + 1,
    timeoutsInRow: isTimeout(outcome) ? lane.timeoutsInRow + 1 : 0,
    lastFastSuccessMs: isOk && durationMs < FAST_MS ? nowMs : lane.lastFastSuccessMs,
  };
}

/** Its new health; `lane` still has its previous one. */
function judge(lane: LaneHealth, nowMs: number): Health {
  const { timeoutsInRow, failuresInRow, averageMs } = lane;
  if (timeoutsInRow >= TIMEOUTS_TO_OPEN) return "open";
  if (timeoutsInRow >= TIMEOUTS_TO_SLOW || (averageMs ?? 0) > FAST_MS) return "slow";
  if (failuresInRow >= FAILURES_TO_FAILING) return "failing";
  if (!wasFastLately(lane, nowMs)) return "unproven";
  // After nothing but time-outs one success may be chance, however fast those were.
  return lane.health === "open" ? "slow" : "proven";
}

function wasFastLately({ lastFastSuccessMs }: LaneHealth, nowMs: number): boolean {
  return lastFastSuccessMs !== null && nowMs - lastFastSuccessMs < PROVEN_FOR_MS;
}

type Lesson = { health: Health; wasFailure: boolean; wasFast: boolean };

/** Grows by one with each fast success, halves with a failure, restarts when proven again. */
function nextWindow(lane: LaneHealth, { health, wasFailure, wasFast }: Lesson): number {
  if (health !== "proven" || lane.health !== "proven") return FIRST_WINDOW;
  if (wasFailure) return Math.max(UNPROVEN_CAP, Math.floor(lane.window / 2));
  return wasFast ? Math.min(MAX_WINDOW, lane.window + 1) : lane.window;
}

function nextProbe(lane: LaneHealth, { ms, random }: { ms: number; random: number }) {
  const isFirst = lane.health !== "open";
  const probeWaitMs = isFirst ? FIRST_PROBE_MS : Math.min(MAX_PROBE_MS, 2 * lane.probeWaitMs);
  const jitter = 1 - PROBE_JITTER + 2 * PROBE_JITTER * random;
  return { probeWaitMs, probeAtMs: ms + probeWaitMs * jitter };
}
