import type { Clock } from "#platform";

import type { Patience } from "./patience.ts";
import type { Window } from "./window.ts";

type Deps = {
  clock: Clock;
  patience: Patience;
  window: Window;
  /** How long an unbind may wait for its answer, whether ours or the peer's. */
  limitMs: number;
  /** Sends our unbind; returns its sequence number. */
  unbind: (why: string) => number;
  /** Both of these end the connection. */
  answerUnbind: (sequence: number) => void;
  onUnanswered: (problem: string) => void;
};

/** How long a stop waits for answers; a stopping process is not given much longer. */
const DRAIN_MS = 10_000;

/**
 * Ends a bind in good order, at our wish or the peer's: nothing new is submitted, and what is on
 * its way gets its time. Our unbind waits until our submits are answered; our answer to the peer's
 * unbind also waits until its deliveries are.
 */
export class Leaving {
  readonly #deps: Deps;
  #hasBegun = false;
  #onDrained: (() => void)[] = [];
  /** The sequence number of the peer's unbind that waits for our answer; null if there is none. */
  #theirUnbind: number | null = null;
  /** The sequence number of our unbind; 0 if there is none. */
  #ourUnbind = 0;
  /** How many of the peer's deliveries wait for our answer. */
  #deliveries = 0;
  #isPaused = false;
  #isOver = false;
  #cancelLimit = () => {};
  readonly #ended = Promise.withResolvers<void>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the peer has asked to unbind. */
  get isAsked(): boolean {
    return this.#theirUnbind !== null;
  }

  /** Whether our unbind waits for its answer. */
  get isUnbinding(): boolean {
    return this.#ourUnbind !== 0;
  }

  /** Waits for the answers to our submits and `settled`, then unbinds; resolves once it is over. */
  async leave(settled: () => Promise<void>, why: string): Promise<void> {
    this.#hasBegun = true;
    await this.#drained();
    await settled();
    // If the carrier has asked to unbind itself, ours is not needed.
    this.#comply();
    this.#unbind(why);
    await this.#ended.promise;
  }

  /** Whether this is the answer to our unbind. */
  takeAnswer(sequence: number): boolean {
    return this.isUnbinding && sequence === this.#ourUnbind;
  }

  /** Takes the peer's unbind; false if one was pending: the answer then goes to the latest. */
  asked(sequence: number): boolean {
    const isFirst = this.#theirUnbind === null;
    this.#theirUnbind = sequence;
    if (!isFirst) return false;
    this.#hasBegun = true;
    this.#limit();
    return true;
  }

  /** Answers the peer's unbind, if there is one and nothing is on its way any more. */
  complyIfDone(): void {
    if (this.#deps.window.size === 0 && this.#deliveries === 0) this.#comply();
  }

  /** Called when submits were answered or timed out. */
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

  /** While nothing is read, no time limit runs out. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.isAsked) this.#limit();
  }

  /** The connection is over: ends every wait. */
  end(): void {
    this.#isOver = true;
    this.#cancelLimit();
    this.#announceDrained();
    this.#ended.resolve();
  }

  /** Resolves when our submits are answered or their time is up. */
  async #drained(): Promise<void> {
    if (this.#deps.window.size === 0) return;
    const cancel = this.#deps.clock.timer(DRAIN_MS, () => this.#announceDrained());
    await new Promise<void>((resolve) => this.#onDrained.push(resolve));
    cancel();
  }

  #comply(): void {
    if (this.#theirUnbind !== null) this.#deps.answerUnbind(this.#theirUnbind);
  }

  #unbind(why: string): void {
    if (this.#isOver || this.isUnbinding) return;
    const { clock, limitMs, unbind, onUnanswered } = this.#deps;
    this.#ourUnbind = unbind(why);
    const problem = `${why}; the carrier did not answer the unbind`;
    this.#cancelLimit = clock.timer(limitMs, () => onUnanswered(problem));
  }

  #limit(): void {
    const { clock, limitMs, patience } = this.#deps;
    this.#cancelLimit();
    this.#cancelLimit = clock.timer(limitMs, () =>
      patience.thenJudge(() => {
        if (!this.#isPaused) this.#comply();
      }),
    );
  }

  #announceDrained(): void {
    for (const listener of this.#onDrained.splice(0)) listener();
  }
}
