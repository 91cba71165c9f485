import { randomBytes } from "node:crypto";

import type { DeliveryErrorCode } from "#contract";
import { type Clock, DAY_MS, type Log } from "#platform";

import { type Behaviour, behaviourOf, SILENCE_MS } from "./behaviour.ts";
import type {
  Carrier,
  CarrierState,
  OutgoingSegment,
  Receipt,
  ReceiptSink,
  SubmitOutcome,
} from "./carrier.ts";
import { status, statusCode } from "./smpp/codec/status.ts";
import { Meter } from "./smpp/meter.ts";
import { ReceiptIntake } from "./smpp/receipt-intake.ts";
import { Tally } from "./smpp/tally.ts";

export type SimulatorCarrier = Carrier & {
  /**
   * Sends the receipts that an earlier process still owed for accepted submissions when it died, as
   * a real SMSC would. Repeating a receipt that was already sent changes nothing.
   */
  recall(open: { carrierMessageId: string; recipient: string }[]): void;
};

type Deps = {
  carrierId: string;
  name: string;
  clock: Clock;
  log: Log;
  receipts: ReceiptSink;
};

/** How many submissions it takes at once. It answers immediately, so this only bounds memory. */
const WINDOW = 10_000;

/** The delay before a receipt that could not be stored is sent again. */
const REPEAT_MS = 1000;

const receiptMeanings: Record<
  NonNullable<Behaviour["receipt"]>["state"],
  { effect: Receipt["effect"]; errorCode: DeliveryErrorCode | null }
> = {
  DELIVRD: { effect: "delivered", errorCode: null },
  UNDELIV: { effect: "undelivered", errorCode: "RECIPIENT_UNREACHABLE" },
  REJECTD: { effect: "rejected", errorCode: "REJECTED_BY_CARRIER" },
};

const REFUSED: SubmitOutcome = {
  kind: "refused",
  temporary: false,
  throttled: false,
  code: "REJECTED_BY_CARRIER",
  carrierCode: statusCode(status.submitFailed),
};

const THROTTLED: SubmitOutcome = {
  kind: "refused",
  temporary: true,
  throttled: true,
  code: "EXPIRED",
  carrierCode: statusCode(status.throttled),
};

/** A carrier without a network: every path of a message can be tried by its recipient's digits. */
export function simulatorCarrier(deps: Deps): SimulatorCarrier {
  return new Simulator(deps);
}

class Simulator implements SimulatorCarrier {
  readonly carrierId: string;
  readonly name: string;
  readonly inDoubt = "resend";
  readonly wholeMessages = false;
  readonly receiptRules = { per: "segment", windowMs: 7 * DAY_MS, parkedMs: 7 * DAY_MS } as const;
  readonly #deps: Deps;
  readonly #intake: ReceiptIntake;
  readonly #meter = new Meter();
  readonly #since: Date;
  /** The prefix of this process's ids. The start time and random bytes make it unique. */
  readonly #idPrefix: string;
  readonly #roomListeners: (() => void)[] = [];
  /** Delayed receipts: how to cancel each timer, and how to send its receipt early. */
  readonly #delayed = new Map<() => void, () => void>();
  readonly #tally = new Tally();
  #ids = 0;
  #silent = 0;
  #isFull = false;
  #isStarted = false;
  #onQuiet: (() => void)[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
    this.carrierId = deps.carrierId;
    this.name = deps.name;
    this.#since = deps.clock.now();
    this.#idPrefix = `${this.#since.getTime().toString(36)}${randomBytes(4).toString("hex")}`;
    this.#intake = new ReceiptIntake({
      carrier: deps.name,
      sink: deps.receipts,
      clock: deps.clock,
      log: deps.log,
      onFull: () => {
        this.#isFull = true;
      },
      onRelieved: () => {
        this.#isFull = false;
        for (const listener of this.#roomListeners) listener();
      },
    });
  }

  start(): void {
    this.#isStarted = true;
    for (const listener of this.#roomListeners) listener();
  }

  /** Waits until the open doubts end, and sends delayed receipts early. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    if (this.#silent > 0) await new Promise<void>((resolve) => this.#onQuiet.push(resolve));
    for (const [cancel, send] of this.#delayed) {
      cancel();
      send();
    }
    this.#delayed.clear();
    // The receipts of the last answers are sent at the end of the turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#intake.settled();
  }

  room(): number {
    return this.#isStarted && !this.#isFull ? WINDOW - this.#silent : 0;
  }

  onRoom(listener: () => void): void {
    this.#roomListeners.push(listener);
  }

  submit(segment: OutgoingSegment, signal: AbortSignal): Promise<SubmitOutcome> {
    if (!this.#isStarted || signal.aborted) return Promise.resolve({ kind: "unsent" });
    const behaviour = behaviourOf(segment.recipient, segment);
    this.#meter.submitted(this.#deps.clock.monotonicMs());
    switch (behaviour.answer) {
      case "accept":
        return this.#accept(segment, behaviour.receipt);
      case "refuse":
        this.#tally.refused(status.submitFailed, false);
        return Promise.resolve(REFUSED);
      case "throttle":
        this.#tally.refused(status.throttled, true);
        return Promise.resolve(THROTTLED);
      case "silence":
        return this.#keepSilent();
    }
  }

  recall(open: { carrierMessageId: string; recipient: string }[]): void {
    for (const { carrierMessageId, recipient } of open) {
      const { receipt } = behaviourOf(recipient, {
        attempt: Number.POSITIVE_INFINITY,
        resent: true,
      });
      if (receipt !== null) this.#send(this.#receipt(carrierMessageId, recipient, receipt));
    }
  }

  state(): CarrierState {
    const nowMs = this.#deps.clock.monotonicMs();
    const reading = this.#meter.read(nowMs);
    return {
      state: this.#isStarted ? "up" : "down",
      takesMessages: this.#isStarted,
      links: [
        {
          bind: "simulator",
          state: this.#isStarted ? "bound" : "stopped",
          since: this.#since,
          windowInUse: this.#silent,
          ...reading,
          enquireLinkAt: null,
          problem: null,
        },
      ],
      ...reading,
      counts: { ...this.#tally.counts },
      statuses: this.#tally.statuses(),
    };
  }

  #accept(segment: OutgoingSegment, owed: Behaviour["receipt"]): Promise<SubmitOutcome> {
    const carrierMessageId = `${this.#idPrefix}-${(++this.#ids).toString(36)}`;
    const outcome: SubmitOutcome = {
      kind: "accepted",
      carrierMessageId,
      matchId: carrierMessageId,
    };
    this.#tally.accepted(carrierMessageId);
    if (owed === null) return Promise.resolve(outcome);
    const receipt = this.#receipt(carrierMessageId, segment.recipient, owed);
    if (owed.when === "before") {
      return new Promise((resolve) => {
        const lost: SubmitOutcome = { kind: "in_doubt", why: "link_lost" };
        this.#send(receipt, (isStored) => resolve(isStored ? outcome : lost));
      });
    }
    if (owed.delayMs > 0) this.#sendLater(receipt, owed.delayMs);
    // The answer must be seen first: it settles before this turn of the event loop ends.
    else setImmediate(() => this.#send(receipt));
    return Promise.resolve(outcome);
  }

  async #keepSilent(): Promise<SubmitOutcome> {
    this.#silent += 1;
    await this.#deps.clock.sleep(SILENCE_MS);
    this.#silent -= 1;
    this.#tally.counts.inDoubt += 1;
    if (this.#silent === 0) for (const listener of this.#onQuiet.splice(0)) listener();
    return { kind: "in_doubt", why: "timeout" };
  }

  #sendLater(receipt: Receipt, delayMs: number): void {
    const send = () => this.#send(receipt);
    const cancel = this.#deps.clock.timer(delayMs, () => {
      this.#delayed.delete(cancel);
      send();
    });
    this.#delayed.set(cancel, send);
  }

  /** Repeats it until it is stored, as an SMSC repeats until it gets ESME_ROK. */
  #send(receipt: Receipt, onEnd = (_isStored: boolean) => {}): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const respond = (code: number) => {
      // After `stop` nothing is repeated: `recall` sends what is still owed.
      if (code === status.ok || !this.#isStarted) onEnd(code === status.ok);
      else this.#deps.clock.timer(REPEAT_MS, () => this.#send(receipt, onEnd));
    };
    this.#tally.counts.receipts += 1;
    this.#meter.receipt(nowMs);
    this.#intake.take(receipt, respond, nowMs);
  }

  #receipt(
    carrierMessageId: string,
    recipient: string,
    { state, err }: NonNullable<Behaviour["receipt"]>,
  ): Receipt {
    return {
      carrierId: this.carrierId,
      carrierMessageIds: [carrierMessageId],
      state,
      ...receiptMeanings[state],
      carrierCode: err,
      recipient,
      raw: null,
    };
  }
}
