import type { Clock } from "#platform";

import type { Patience } from "./patience.ts";

type Deps = {
  clock: Clock;
  patience: Patience;
  /** How long the peer may say nothing before it is asked, and how long its answer may take. */
  idleMs: number;
  timeoutMs: number;
  /** Sends enquire_link; says its sequence number. */
  ask: () => number;
  onAnswer: () => void;
  onDead: () => void;
};

/**
 * Asks an idle peer whether it is there, and no other. Counted from the last whole PDU: octets
 * that never become one are no sign of life.
 */
export class Liveness {
  readonly #deps: Deps;
  #lastPduMs = 0;
  #asked = 0;
  #cancel = () => {};

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  heard(nowMs: number): void {
    this.#lastPduMs = nowMs;
  }

  watch(): void {
    const { clock, idleMs } = this.#deps;
    const inMs = Math.max(0, this.#lastPduMs + idleMs - clock.monotonicMs());
    this.#cancel = clock.timer(inMs, () => {
      const isIdle = this.#lastPduMs + idleMs <= clock.monotonicMs();
      if (isIdle) this.#askOnce();
      else this.watch();
    });
  }

  stop(): void {
    this.#asked = 0;
    this.#cancel();
  }

  /** Nobody could be heard for a while, by our own choice. */
  watchAfterPause(pausedMs: number): void {
    this.#lastPduMs += pausedMs;
    this.watch();
  }

  /** Whether that is the answer to our question; then the watch goes on. */
  takeAnswer(sequence: number): boolean {
    if (sequence === 0 || sequence !== this.#asked) return false;
    this.stop();
    this.#deps.onAnswer();
    this.watch();
    return true;
  }

  /** It answered something else that we asked: that tells as much. What it sends by itself does not. */
  answered(): void {
    if (this.#asked === 0) return;
    this.stop();
    this.watch();
  }

  #askOnce(): void {
    const { clock, patience, timeoutMs, ask, onDead } = this.#deps;
    const sequence = ask();
    this.#asked = sequence;
    this.#cancel = clock.timer(timeoutMs, () =>
      patience.thenJudge(() => {
        if (this.#asked === sequence) onDead();
      }),
    );
  }
}
