import type { Receipt, ReceiptSink } from "#carriers";
import { type Clock, type Log, severityOf } from "#platform";

import { status } from "./codec/status.ts";

/** Answers the peer that delivered the receipt. */
export type Respond = (code: number) => void;

type Held = { receipt: Receipt; respond: Respond; receivedAtMs: number; isAnswered: boolean };

type Deps = {
  carrier: string;
  sink: ReceiptSink;
  clock: Clock;
  log: Log;
  /** Too many receipts are held; and few enough again. */
  onFull(): void;
  onRelieved(): void;
};

/** As many as one commit takes without delaying the next for long; smaller was a bottleneck. */
const BATCH = 2000;

/** Receipts in memory: at this many reading from the carriers stops, below half of it resumes. */
const FULL = 5000;

/** How long a receipt waits while nothing is stored; then the carrier is asked to repeat it. */
const HOLD_MS = 5000;

/** The same if the database is only slow: carriers wait at most half a minute for an answer. */
const LONGEST_MS = 15_000;

/** The pause between tries to store what could not be stored. */
const RETRY_MS = 250;

/**
 * Passes receipts to the sink in batches: those that arrive during a commit are the next one. Each
 * is answered once, only after it is stored: after a crash before that, the carrier repeats it.
 */
export class ReceiptIntake {
  readonly #deps: Deps;
  #waiting: Held[] = [];
  #storing: Held[] = [];
  #isRunning = false;
  #isFull = false;
  #isFailing = false;
  #cancelWatch: (() => void) | null = null;
  #onSettled: { held: readonly Held[]; resolve: () => void }[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get held(): number {
    return this.#waiting.length + this.#storing.length;
  }

  take(receipt: Receipt, respond: Respond, receivedAtMs: number): void {
    this.#waiting.push({ receipt, respond, receivedAtMs, isAnswered: false });
    if (!this.#isFull && this.held >= FULL) {
      this.#isFull = true;
      this.#deps.onFull();
    }
    if (!this.#isRunning) this.#run();
    if (this.#cancelWatch === null) this.#watch(HOLD_MS);
  }

  /**
   * Resolves when the receipts held now are answered, at the latest with a request to repeat them.
   * Others may keep coming: a stop must not wait for a moment without any.
   */
  settled(): Promise<void> {
    const held = [...this.#storing, ...this.#waiting].filter(({ isAnswered }) => !isAnswered);
    if (held.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onSettled.push({ held, resolve }));
  }

  #run(): void {
    this.#isRunning = true;
    // Runs after the current read is fully handled, so that all it brought is one batch.
    queueMicrotask(() => void this.#storeAll());
  }

  async #storeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.#storing = this.#waiting.splice(0, BATCH);
      const isStored = await this.#store(this.#storing);
      this.#release();
      if (!isStored) await this.#deps.clock.sleep(RETRY_MS);
    }
    // Synchronous with the last check of `#waiting`: a receipt between the two would be left there.
    this.#isRunning = false;
  }

  async #store(batch: Held[]): Promise<boolean> {
    const { carrier, log, sink } = this.#deps;
    try {
      const unstored = new Set(await sink.store(batch.map(({ receipt }) => receipt)));
      for (const held of batch)
        this.#answer(held, unstored.has(held.receipt) ? status.temporaryAppError : status.ok);
      this.#storing = [];
      this.#isFailing = false;
      return true;
    } catch (error) {
      if (!this.#isFailing) {
        log[severityOf(error) === "debug" ? "debug" : "warn"](
          { error, carrier, receipts: batch.length },
          `receipts of ${carrier} wait to be stored`,
        );
      }
      this.#isFailing = true;
      this.#waiting = [...batch.filter(({ isAnswered }) => !isAnswered), ...this.#waiting];
      this.#storing = [];
      return false;
    }
  }

  #answer(held: Held, code: number): void {
    if (held.isAnswered) return;
    held.isAnswered = true;
    held.respond(code);
  }

  /**
   * Asks the carrier to repeat what was held too long, even while the sink hangs. A batch that is
   * merely slow to store is left out: it would be stored twice and slow the database further.
   */
  #watch(inMs: number): void {
    this.#cancelWatch = this.#deps.clock.timer(inMs, () => {
      this.#cancelWatch = null;
      const { clock, sink } = this.#deps;
      const nowMs = clock.monotonicMs();
      const isStuck = nowMs - sink.storedAtMs() >= HOLD_MS;
      const repeat = (held: Held[], afterMs: number) => {
        for (const each of held)
          if (nowMs - each.receivedAtMs >= afterMs) this.#answer(each, status.temporaryAppError);
      };
      if (isStuck) repeat(this.#storing, HOLD_MS);
      repeat(this.#waiting, isStuck ? HOLD_MS : LONGEST_MS);
      this.#waiting = this.#waiting.filter(({ isAnswered }) => !isAnswered);
      this.#release();
      if (!this.#areAnswered()) this.#watch(RETRY_MS);
    });
  }

  #areAnswered(): boolean {
    return this.#waiting.length === 0 && this.#storing.every(({ isAnswered }) => isAnswered);
  }

  #release(): void {
    if (this.#isFull && this.held < FULL / 2) {
      this.#isFull = false;
      this.#deps.onRelieved();
    }
    this.#onSettled = this.#onSettled.filter(({ held, resolve }) => {
      const isSettled = held.every(({ isAnswered }) => isAnswered);
      if (isSettled) resolve();
      return !isSettled;
    });
    if (!this.#areAnswered()) return;
    this.#cancelWatch?.();
    this.#cancelWatch = null;
  }
}
