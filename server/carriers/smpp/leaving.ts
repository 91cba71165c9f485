import type { Clock } from "#platform";

import type { Patience } from "./patience.ts";
import type { Window } from "./window.ts";

type Deps = {
  clock: Clock;
  patience: Patience;
  window: Window;
  /** How long the peer's unbind may wait for its answer. */
  limitMs: number;
  /** Ends the connection. */
  answerUnbind: (sequence: number) => void;
};

/** How long a stop waits for answers; a process that stops is not given much longer. */
const DRAIN_MS = 10_000;

/**
 * How a bind ends in good order, at our wish or the peer's: nothing new is submitted, and what is
 * on its way has its time. Our unbind waits until our submits are answered; the answer to the
 * peer's also until its deliveries are.
 */
export class Leaving {
  readonly #deps: Deps;
  #hasBegun = false;
  #onDrained: (() => void)[] = [];
  /** Of the peer's unbind, which waits for our answer; null where there is none. */
  #theirUnbind: number | null = null;
  /** The peer's deliveries that wait for our answer. */
  #deliveries = 0;
  #isPaused = false;
  #cancelLimit = () => {};

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the peer wants it. */
  get isAsked(): boolean {
    return this.#theirUnbind !== null;
  }

  begin(): void {
    this.#hasBegun = true;
  }

  /** Resolves when our submits are answered, or have had their time. */
  async drained(): Promise<void> {
    if (this.#deps.window.size === 0) return;
    const cancel = this.#deps.clock.timer(DRAIN_MS, () => this.#announceDrained());
    await new Promise<void>((resolve) => this.#onDrained.push(resolve));
    cancel();
  }

  /** Takes the peer's unbind; false where there was one already: then the answer is to the last. */
  asked(sequence: number): boolean {
    const isFirst = this.#theirUnbind === null;
    this.#theirUnbind = sequence;
    if (!isFirst) return false;
    this.begin();
    this.#limit();
    return true;
  }

  /** Does as the peer's unbind asks, where there is one. */
  comply(): void {
    if (this.#theirUnbind !== null) this.#deps.answerUnbind(this.#theirUnbind);
  }

  complyIfDone(): void {
    if (this.#deps.window.size === 0 && this.#deliveries === 0) this.comply();
  }

  /** Submits were answered, or have had their time. */
  answered(): void {
    if (!this.#hasBegun) return;
    if (this.#deps.window.size === 0) this.#announceDrained();
    this.complyIfDone();
  }

  delivered(): void {
    this.#deliveries += 1;
  }

  responded(): void {
    this.#deliveries -= 1;
    this.complyIfDone();
  }

  /** While nothing is read, nothing has had its time. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.isAsked) this.#limit();
  }

  /** The connection is over, and with it every wait. */
  end(): void {
    this.#cancelLimit();
    this.#announceDrained();
  }

  #limit(): void {
    const { clock, limitMs, patience } = this.#deps;
    this.#cancelLimit();
    this.#cancelLimit = clock.timer(limitMs, () =>
      patience.thenJudge(() => {
        if (!this.#isPaused) this.comply();
      }),
    );
  }

  #announceDrained(): void {
    for (const listener of this.#onDrained.splice(0)) listener();
  }
}
