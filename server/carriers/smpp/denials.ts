import type { Clock } from "#platform";

/** Where the carrier denies again so soon after it was believed, making the bind anew did not help. */
const SOON_MS = 600_000;
/** Then it takes this many times as many denials in a row as before to be believed, up to the most. */
const FACTOR = 4;
const MOST = 64;

/**
 * When a carrier that answers as if a link were not bound is to be believed. A bind that never took
 * anything is doubted at once, any other when it denies twice without taking anything between: a single
 * message may be answered so for ever, whatever the bind, and the others must not wait for it.
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

  /** Whether this one is to be believed. */
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
