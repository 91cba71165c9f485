import type { Clock } from "#platform";

import type { Patience } from "./patience.ts";
import type { Window } from "./window.ts";

type Deps = {
  clock: Clock;
  patience: Patience;
  window: Window;
  /** Submits have just been put in doubt. */
  onTimeout: () => void;
  /** Called when the bind answers nothing: it is dead, though its connection is up. */
  onDead: () => void;
};

const TIMEOUTS_IN_A_ROW = 3;

/** One timer for all submits in flight: their deadlines follow the order of sending. */
export class ResponseTimer {
  readonly #deps: Deps;
  #timeoutsInARow = 0;
  /** When the newest answered submit was sent. */
  #answeredFromMs = Number.NEGATIVE_INFINITY;
  #armedForMs = 0;
  #cancel: (() => void) | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  answered(sentAtMs = this.#answeredFromMs): void {
    this.#answeredFromMs = Math.max(this.#answeredFromMs, sentAtMs);
    this.#timeoutsInARow = 0;
  }

  /** Cheap if already armed, which is mostly for an older submit that times out first. */
  arm(deadlineMs = this.#deps.window.nextDeadlineMs()): void {
    const isArmed = this.#cancel !== null && this.#armedForMs <= (deadlineMs ?? Infinity);
    if (isArmed || deadlineMs === undefined) return;
    const { clock, patience } = this.#deps;
    this.#cancel?.();
    this.#armedForMs = deadlineMs;
    const cancel = clock.timer(Math.max(0, deadlineMs - clock.monotonicMs()), () => {
      const firedAtMs = clock.monotonicMs();
      // If it was stopped meanwhile, perhaps rearmed, nothing was read and the deadlines move.
      patience.thenJudge(() => this.#cancel === cancel && this.#judge(firedAtMs));
    });
    this.#cancel = cancel;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #judge(firedAtMs: number): void {
    this.#cancel = null;
    const expired = this.#deps.window.expire(firedAtMs);
    // If a later submit was answered, the expired ones are lost but the bind is not.
    this.#timeoutsInARow += expired.filter((sentAtMs) => sentAtMs >= this.#answeredFromMs).length;
    if (this.#timeoutsInARow >= TIMEOUTS_IN_A_ROW) return this.#deps.onDead();
    this.arm();
    if (expired.length > 0) this.#deps.onTimeout();
  }
}
