import type { Carrier, CarrierState, OutgoingSegment, ReceiptSink, SubmitOutcome } from "#carriers";
import type { Clock, Log, Secret } from "#platform";

import { AnswerJudge, type Sent, UNSENT } from "./answer-judge.ts";
import { status } from "./codec/status.ts";
import { Link } from "./link.ts";
import { Meter } from "./meter.ts";
import { Pace } from "./pace.ts";
import { ReceiptIntake } from "./receipt-intake.ts";
import { type Delivered, readDelivered } from "./receipt.ts";
import type { BindKind, Delivery } from "./session-events.ts";
import type { Session } from "./session.ts";
import type { SmppSettings } from "./settings.ts";
import { Slots } from "./slots.ts";
import { submission } from "./submission.ts";
import { Tally } from "./tally.ts";

/** This process's share of the carrier: bind slots, and segments per second (0: no limit). */
export type Share = { binds: number; rate: number };

export type SmppCarrier = Carrier & {
  /** Takes effect at once: links are added, or ended in good order. */
  setShare(share: Share): void;
  /** Other nodes may have closed binds: retries at once those the carrier refused for them. */
  tryAgain(): void;
  /** Whether a link that the share no longer has room for is still closing. */
  readonly isClosing: boolean;
};

type Deps = {
  carrierId: string;
  name: string;
  settings: SmppSettings;
  password: Secret;
  clock: Clock;
  log: Log;
  receipts: ReceiptSink;
  share: Share;
  /** For the jitter of reconnects. */
  random?: () => number;
};

type Waiter = {
  segment: OutgoingSegment;
  signal: AbortSignal;
  mayLeave: () => boolean;
  resolve: (outcome: SubmitOutcome) => void;
  reject: (error: unknown) => void;
  onAbort: (() => void) | null;
};

/** Our own refusal, not the carrier's: the text does not fit its alphabet. */
const CANNOT_CARRY: SubmitOutcome = {
  kind: "refused",
  temporary: false,
  throttled: false,
  code: "CONTENT_REJECTED",
  carrierCode: null,
};

/** Several loops may see the same room at once; whatever exceeds this goes back. */
const MOST_WAITING = 20_000;

/** Several times the size of any real receipt; thousands may be held and parked at once. */
const RAW_OCTETS = 2048;

/** A carrier over SMPP 3.4: several links, one pace for all of them, receipts to one sink. */
export function smppCarrier(deps: Deps): SmppCarrier {
  return new LinkedCarrier(deps);
}

class LinkedCarrier implements SmppCarrier {
  readonly carrierId: string;
  readonly name: string;
  readonly inDoubt: "resend" | "fail";
  readonly wholeMessages: boolean;
  readonly receiptRules: Carrier["receiptRules"];
  readonly #deps: Deps;
  readonly #meter = new Meter();
  readonly #tally = new Tally();
  readonly #pace: Pace;
  readonly #intake: ReceiptIntake;
  readonly #slots: Slots;
  readonly #answers: AnswerJudge;
  readonly #waiting = new Set<Waiter>();
  readonly #roomListeners: (() => void)[] = [];
  #share: Share;
  #isStarted = false;
  #isRoomAnnounced = false;

  constructor(deps: Deps) {
    const { settings, clock, log, name: carrier } = deps;
    this.#deps = deps;
    this.#share = deps.share;
    this.carrierId = deps.carrierId;
    this.name = deps.name;
    this.inDoubt = settings.inDoubt;
    this.wholeMessages = settings.longMessages === "payload";
    this.receiptRules = {
      per: settings.receiptPer,
      windowMs: settings.receiptWindowMs,
      parkedMs: settings.parkedReceiptsMs,
      defaultSender: settings.defaultSender,
    };
    this.#pace = new Pace(deps.share.rate, {
      clock,
      measured: () => this.#meter.read(clock.monotonicMs()).submitsPerSecond,
      onReady: () => this.#onRoom(),
    });
    this.#intake = new ReceiptIntake({
      carrier,
      sink: deps.receipts,
      clock,
      log,
      onFull: () => this.#slots.pause(),
      onRelieved: () => this.#slots.resume(),
    });
    this.#slots = new Slots({
      bind: settings.bind,
      newLink: (bind) => this.#newLink(bind),
      settled: () => this.#intake.settled(),
    });
    this.#answers = new AnswerJudge({
      settings,
      pace: this.#pace,
      tally: this.#tally,
      onThrottled: () => this.#giveBack(),
      onAccepted: (session) => this.#slots.linkOf(session)?.accepted(),
      onDenied: (session) => this.#slots.linkOf(session)?.denied(() => this.#intake.settled()),
    });
  }

  start(): void {
    this.#isStarted = true;
    this.#slots.resize(this.#share.binds);
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#giveBack();
    this.#pace.stop();
    this.#slots.resize(0);
    await this.#slots.stopped();
  }

  setShare(share: Share): void {
    this.#share = share;
    // The slots first: a share of no binds has the rate 0, which means no limit, and everything
    // waiting would leave at once by a bind that is still closing.
    if (this.#isStarted) this.#slots.resize(share.binds);
    this.#pace.setRate(share.rate);
  }

  tryAgain(): void {
    this.#slots.tryAgain();
  }

  get isClosing(): boolean {
    return this.#slots.isClosing;
  }

  room(): number {
    return Math.max(0, Math.min(this.#slots.room, this.#pace.ahead()) - this.#waiting.size);
  }

  onRoom(listener: () => void): void {
    this.#roomListeners.push(listener);
  }

  submit(
    segment: OutgoingSegment,
    signal: AbortSignal,
    mayLeave: () => boolean,
  ): Promise<SubmitOutcome> {
    // While the pace pauses, new segments go back: one would become the probe, out of order.
    const isOpen = this.#isStarted && !this.#pace.isPaused;
    const isPossible = isOpen && !signal.aborted && this.#slots.canSubmit;
    if (!isPossible || this.#waiting.size >= MOST_WAITING) return Promise.resolve(UNSENT);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { segment, signal, mayLeave, resolve, reject, onAbort: null };
      this.#waiting.add(waiter);
      this.#pump();
      if (!this.#waiting.has(waiter)) return;
      waiter.onAbort = () => this.#release(waiter);
      signal.addEventListener("abort", waiter.onAbort, { once: true });
    });
  }

  state(): CarrierState {
    const { bound, size, reconnects, isUp, canSubmit } = this.#slots;
    return {
      // A pair with only its receiver bound cannot send, and others may take what waits.
      state: !isUp ? "down" : bound < size ? "degraded" : "up",
      takesMessages: canSubmit,
      links: this.#slots.states(this.#pace.isThrottled),
      ...this.#meter.read(this.#deps.clock.monotonicMs()),
      counts: { ...this.#tally.counts, reconnects },
      statuses: this.#tally.statuses(),
    };
  }

  #newLink(bind: BindKind): Link {
    const { name: carrier, settings, password, clock, log, random = Math.random } = this.#deps;
    return new Link({
      carrier,
      settings,
      bind,
      password,
      clock,
      log,
      random,
      meter: this.#meter,
      events: {
        onRoom: () => this.#onRoom(),
        onDelivery: (delivery, session, meter) => this.#onDelivery(delivery, session, meter),
        onLost: () => {
          if (!this.#slots.canSubmit) this.#giveBack();
        },
      },
    });
  }

  #onRoom(): void {
    if (this.#waiting.size > 0) this.#pump();
    // Segments are fetched in handfuls, not with one claim for each that left.
    const isWanted = this.#waiting.size * 2 <= this.#pace.ahead();
    if (this.#isRoomAnnounced || !isWanted) return;
    this.#isRoomAnnounced = true;
    queueMicrotask(() => {
      this.#isRoomAnnounced = false;
      for (const listener of this.#roomListeners) listener();
    });
  }

  /** Nothing that waits has left: it goes back, and whoever claims it next orders it again. */
  #giveBack(): void {
    for (const waiter of this.#waiting) this.#release(waiter);
  }

  #release(waiter: Waiter): void {
    this.#leave(waiter);
    waiter.resolve(UNSENT);
  }

  #leave(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (waiter.onAbort !== null) waiter.signal.removeEventListener("abort", waiter.onAbort);
  }

  /** Sends what waits, in order, as far as the rate and the windows allow. */
  #pump(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const waiter of this.#waiting) {
      if (this.#pace.due(nowMs) < 1) return this.#pace.wake(nowMs);
      const session = this.#slots.freest();
      if (session === null) return;
      this.#leave(waiter);
      const { segment } = waiter;
      this.#send(waiter, { atMs: nowMs, session, segment });
    }
  }

  /** What does not leave uses none of the rate. */
  #send({ segment, mayLeave, resolve, reject }: Waiter, sent: Sent): void {
    const { clock, settings } = this.#deps;
    try {
      if (!mayLeave()) return resolve(UNSENT);
      const message = submission(segment, settings, () => clock.now());
      if (message === undefined) return resolve(CANNOT_CARRY);
      this.#pace.took(sent.atMs);
      sent.session.submit(message, (answer) => resolve(this.#answers.judge(answer, sent)));
    } catch (error) {
      reject(error);
    }
  }

  #onDelivery(delivery: Delivery, session: Session, meter: Meter): void {
    const { commandId, sequence, message, frame } = delivery;
    const { counts } = this.#tally;
    const respond = (code: number) => session.respond({ commandId, sequence }, code);
    const read = message === undefined ? UNREADABLE : readDelivered(message, this.#deps.settings);
    switch (read.kind) {
      case "unreadable":
        counts.unreadable += 1;
        return respond(status.permanentAppError);
      case "inbound_text":
        counts.inboundTexts += 1;
        return respond(status.ok);
      case "receipt": {
        const nowMs = this.#deps.clock.monotonicMs();
        counts.receipts += 1;
        if (!read.isStateKnown) counts.unknownStates += 1;
        meter.receipt(nowMs);
        const { carrierId } = this;
        const raw = Buffer.from(frame.subarray(0, RAW_OCTETS));
        const receipt = { carrierId, ...read.receipt, raw };
        return this.#intake.take(receipt, respond, nowMs);
      }
    }
  }
}

const UNREADABLE: Delivered = { kind: "unreadable" };
