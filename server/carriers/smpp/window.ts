/** What became of one submit on this connection, not yet interpreted. */
export type SubmitAnswer =
  | { kind: "answered"; status: number; messageId: string }
  | { kind: "in_doubt"; why: "timeout" | "link_lost"; lateAnswer?: Promise<SubmitAnswer> }
  | { kind: "unsent" };

type Settle = (answer: SubmitAnswer) => void;

export type PendingSubmit = {
  sentAtMs: number;
  deadlineMs: number;
  settle: Settle;
};

/** How many late answers to wait for, and for how long: a promise may not wait for ever. */
const LATE_ANSWERS = 1000;
const LATE_MS = 300_000;

/** Sequence numbers are positive 32-bit signed integers. */
const LAST_SEQUENCE = 0x7fffffff;

/**
 * The submits of one connection that wait for an answer, oldest first, and those that timed out
 * and may still be answered. Every submit settles exactly once; a late answer settles the promise
 * that its time-out handed out.
 */
export class Window {
  readonly #pending = new Map<number, PendingSubmit & { ordinal: number }>();
  readonly #late = new Map<number, { untilMs: number; settle: Settle }>();
  /** Counts all submits, and those that were handed to the socket. */
  #added = 0;
  #written = 0;
  #sequence: number;

  constructor(firstSequence = 1) {
    this.#sequence = firstSequence - 1;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Wraps to 1 and skips numbers in flight: a number used twice would swallow an answer. */
  nextSequence(): number {
    do this.#sequence = this.#sequence >= LAST_SEQUENCE ? 1 : this.#sequence + 1;
    while (this.#pending.has(this.#sequence) || this.#late.has(this.#sequence));
    return this.#sequence;
  }

  add(sequence: number, { sentAtMs, deadlineMs, settle }: PendingSubmit): void {
    this.#added += 1;
    this.#pending.set(sequence, { sentAtMs, deadlineMs, settle, ordinal: this.#added });
  }

  /** Everything added so far is being handed to the socket. */
  written(): void {
    this.#written = this.#added;
  }

  /** Settles the submit with that number; undefined if nothing waits for it. */
  answer(sequence: number, status: number, messageId: string): PendingSubmit | "late" | undefined {
    const submit = this.#pending.get(sequence);
    if (submit !== undefined) {
      this.#pending.delete(sequence);
      submit.settle({ kind: "answered", status, messageId });
      return submit;
    }
    const late = this.#late.get(sequence);
    if (late === undefined) return undefined;
    this.#late.delete(sequence);
    late.settle({ kind: "answered", status, messageId });
    return "late";
  }

  /** When `expire` next has something to do. Deadlines follow the order of sending. */
  nextDeadlineMs(): number | undefined {
    const [submit] = this.#pending.values();
    const [late] = this.#late.values();
    // Late ones are forgotten with the next submit that can expire: precision gains nothing here.
    return submit?.deadlineMs ?? late?.untilMs;
  }

  /** Puts submits past their deadline in doubt; returns when each of them was sent. */
  expire(nowMs: number): number[] {
    const expired: number[] = [];
    for (const [sequence, submit] of this.#pending) {
      if (submit.deadlineMs > nowMs) break;
      this.#pending.delete(sequence);
      const lateAnswer = this.#awaitLate(sequence, nowMs + LATE_MS);
      submit.settle({ kind: "in_doubt", why: "timeout", lateAnswer });
      expired.push(submit.sentAtMs);
    }
    for (const [sequence, { untilMs }] of this.#late) {
      if (untilMs > nowMs) break;
      this.#forget(sequence);
    }
    return expired;
  }

  /** We chose not to read for that long, so the peer gets that much more time. */
  extend(byMs: number): void {
    for (const submit of this.#pending.values()) submit.deadlineMs += byMs;
  }

  /** The connection is gone: what was handed to the socket is in doubt, the rest was never sent. */
  close(): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { ordinal, settle } of pending)
      settle(ordinal > this.#written ? { kind: "unsent" } : LINK_LOST);
    for (const sequence of this.#late.keys()) this.#forget(sequence);
  }

  #awaitLate(sequence: number, untilMs: number): Promise<SubmitAnswer> {
    const [oldest] = this.#late.keys();
    if (this.#late.size >= LATE_ANSWERS && oldest !== undefined) this.#forget(oldest);
    return new Promise((resolve) => this.#late.set(sequence, { untilMs, settle: resolve }));
  }

  #forget(sequence: number): void {
    const late = this.#late.get(sequence);
    this.#late.delete(sequence);
    late?.settle(LINK_LOST);
  }
}

const LINK_LOST: SubmitAnswer = { kind: "in_doubt", why: "link_lost" };
