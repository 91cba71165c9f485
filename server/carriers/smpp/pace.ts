import type { Clock } from "#platform";

type Deps = {
  clock: Clock;
  /** The measured submits per second, for a carrier without a rate of its own. */
  measured: () => number;
  /** More may leave than a moment ago. */
  onReady: () => void;
};

/** How far ahead segments may be claimed: they leave one by one but are fetched together. */
const AHEAD_MS = 100;

/** Lateness of a timer is made up for, up to this: the rate holds, and a stall floods nobody. */
const MAKE_UP_MS = 20;

/** After a throttle: a pause, then one probe, then a tenth more of the rate each second. */
const PAUSE_MS = 1000;
const STEP_MS = 1000;
const STEP = 0.1;
const SLOWEST = 1;

/** Sums of intervals are slightly off; a segment that is due must not wait for that. */
const ROUNDING_MS = 0.001;

/**
 * The rate of a carrier in this process, in segments per second over all its links, evenly spaced:
 * never a second's worth at once, and idle time earns no credit. When the carrier throttles, the
 * rate is halved and then recovered in steps.
 */
export class Pace {
  readonly #deps: Deps;
  #mode: "free" | "paused" | "probing" | "recovering" = "free";
  /** The configured rate; 0 means no limit. */
  #agreed: number;
  /** The rate now, and the rate it may grow back to; 0 means no limit. */
  #limit: number;
  #ceiling: number;
  #nextAtMs = 0;
  #makeUpMs = 0;
  #slowedAtMs = -1;
  #probeSentAtMs: number | null = null;
  #hasIgnored = false;
  #cancelWake: (() => void) | null = null;
  #cancelStep = () => {};

  constructor(rate: number, deps: Deps) {
    this.#deps = deps;
    this.#agreed = rate;
    this.#limit = rate;
    this.#ceiling = rate;
  }

  get isThrottled(): boolean {
    return this.#mode !== "free";
  }

  /** Whether nothing may leave until the carrier is probed. */
  get isPaused(): boolean {
    return this.#mode === "paused";
  }

  setRate(rate: number): void {
    this.#agreed = rate;
    if (this.#mode === "free" || rate !== 0) this.#ceiling = rate;
    const isAbove = this.#limit === 0 || this.#limit > this.#ceiling;
    if (this.#mode === "free" || isAbove) this.#limit = this.#ceiling;
    this.#deps.onReady();
  }

  /** How many may leave now. */
  due(nowMs: number): number {
    if (this.#mode === "paused") return 0;
    if (this.#mode === "probing") return this.#probeSentAtMs === null ? 1 : 0;
    if (this.#limit === 0) return Number.POSITIVE_INFINITY;
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs - this.#makeUpMs);
    const lateMs = nowMs - this.#nextAtMs + ROUNDING_MS;
    return lateMs < 0 ? 0 : 1 + Math.floor(lateMs / this.#intervalMs);
  }

  /** How many may be claimed: those that leave within the next tenth of a second. */
  ahead(): number {
    if (this.#mode === "paused") return 0;
    if (this.#mode === "probing") return this.#probeSentAtMs === null ? 1 : 0;
    if (this.#limit === 0) return Number.POSITIVE_INFINITY;
    return Math.max(1, Math.floor((this.#limit * AHEAD_MS) / 1000));
  }

  /** Called when a segment has left. */
  took(nowMs: number): void {
    if (this.#mode === "probing") this.#probeSentAtMs = nowMs;
    if (this.#limit > 0) this.#nextAtMs += this.#intervalMs;
  }

  /** Calls `onReady` when the next segment is due; for a caller that found none due. */
  wake(nowMs: number): void {
    const isWaitingForAnswer = this.#mode === "paused" || this.#mode === "probing";
    if (this.#cancelWake !== null || isWaitingForAnswer || this.#limit === 0) return;
    const dueAtMs = this.#nextAtMs;
    this.#cancelWake = this.#deps.clock.timer(Math.max(0, dueAtMs - nowMs), () => {
      this.#cancelWake = null;
      const lateMs = this.#deps.clock.monotonicMs() - dueAtMs;
      this.#makeUpMs = Math.min(Math.max(0, lateMs), MAKE_UP_MS);
      this.#deps.onReady();
      this.#makeUpMs = 0;
    });
  }

  /** Takes the answer to a submit that left at that time; no answer counts as not throttled. */
  answered(sentAtMs: number, isThrottled: boolean): void {
    if (this.#mode === "free" && !isThrottled) return;
    // A submit that left before we slowed down does not tell whether we are still too fast.
    if (isThrottled && sentAtMs >= this.#slowedAtMs && this.#mode !== "paused") this.#slowDown();
    else if (this.#mode === "probing" && sentAtMs === this.#probeSentAtMs) this.#recover();
  }

  /**
   * A submit that left at that time was throttled, seemingly for its own reason; returns whether to
   * believe that. After a pause only one probe is believed: if a second is throttled, all may be.
   */
  ignored(sentAtMs: number): boolean {
    if (this.#mode !== "probing" || sentAtMs !== this.#probeSentAtMs) return true;
    if (this.#hasIgnored) return false;
    this.#hasIgnored = true;
    this.#probeSentAtMs = null;
    this.#deps.onReady();
    return true;
  }

  /** Back to the full rate, with no timers. */
  stop(): void {
    this.#cancelWake?.();
    this.#cancelWake = null;
    this.#cancelStep();
    this.#mode = "free";
    this.#limit = this.#agreed;
  }

  get #intervalMs(): number {
    return 1000 / this.#limit;
  }

  #slowDown(): void {
    const { clock, measured } = this.#deps;
    if (this.#mode === "free") this.#ceiling = this.#agreed || Math.max(SLOWEST, measured());
    const present = this.#mode === "free" ? this.#ceiling : this.#limit;
    this.#limit = Math.max(Math.min(SLOWEST, this.#ceiling), present / 2);
    this.#mode = "paused";
    this.#hasIgnored = false;
    this.#slowedAtMs = clock.monotonicMs();
    this.#cancelStep();
    this.#cancelStep = clock.timer(PAUSE_MS, () => {
      this.#mode = "probing";
      this.#probeSentAtMs = null;
      this.#deps.onReady();
    });
  }

  #recover(): void {
    this.#mode = "recovering";
    this.#cancelStep();
    this.#cancelStep = this.#deps.clock.timer(STEP_MS, () => this.#stepUp());
    this.#deps.onReady();
  }

  #stepUp(): void {
    this.#limit += this.#ceiling * STEP;
    if (this.#limit < this.#ceiling) return this.#recover();
    this.stop();
    this.#deps.onReady();
  }
}
