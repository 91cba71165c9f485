import type { Clock } from "#platform";

/** If the carrier denies again this soon after it was believed, rebinding did not help. */
const SOON_MS = 600_000;
/** Then it takes this many times as many denials in a row to be believed, up to MOST. */
const FACTOR = 4;
const MOST = 64;

/**
 * Decides when to believe a carrier that answers as if a link were not bound. A bind that never
 * took anything is doubted at once, any other after two denials with nothing taken between: a
 * single message may be answered so for ever on any bind, and the others must not wait for it.
 */
export class Denials {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #inRow = 0;
  #hasAccepted = false;
  #believedAtMs = Number.NEGATIVE_INFINITY;
  #neededSoon = 1;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Whether the bind took anything. */
  get hasAccepted(): boolean {
    return this.#hasAccepted;
  }

  bound(): void {
    this.#inRow = 0;
    this.#hasAccepted = false;
  }

  accepted(): void {
    this.#inRow = 0;
    this.#hasAccepted = true;
  }

  /** Counts a denial; returns whether to believe it. */
  denied(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#believedAtMs >= SOON_MS) this.#neededSoon = 1;
    this.#inRow += 1;
    if (this.#inRow < Math.max(this.#hasAccepted ? 2 : 1, this.#neededSoon)) return false;
    this.#believedAtMs = nowMs;
    this.#neededSoon = Math.min(MOST, this.#neededSoon * FACTOR);
    return true;
  }
}
