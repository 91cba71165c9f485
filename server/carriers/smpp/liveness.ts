import type { Clock } from "#platform";

import type { Patience } from "./patience.ts";

type Deps = {
  clock: Clock;
  patience: Patience;
  /** How long the peer may be silent before it is asked, and how long its answer may take. */
  idleMs: number;
  timeoutMs: number;
  /** Sends an enquire_link; returns its sequence number. */
  ask: () => number;
  onAnswer: () => void;
  onDead: () => void;
};

/**
 * Asks an idle peer whether it is alive, and never a busy one. Idle time counts from the last whole
 * PDU: bytes that never complete one are no sign of life.
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

  /** Goes on after a pause in which we chose not to read, so the peer could not be heard. */
  watchAfterPause(pausedMs: number): void {
    this.#lastPduMs += pausedMs;
    this.watch();
  }

  /** Whether this is the answer to our enquire_link; if so, the watch goes on. */
  takeAnswer(sequence: number): boolean {
    if (sequence === 0 || sequence !== this.#asked) return false;
    this.stop();
    this.#deps.onAnswer();
    this.watch();
    return true;
  }

  /** The peer answered another request of ours, which proves as much. Its own requests do not. */
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
