import type {
  Carrier,
  CarrierCounts,
  CarrierState,
  OutgoingSegment,
  ReceiptSink,
  SubmitOutcome,
} from "#carriers";
import type { Clock, Log, Secret } from "#platform";

import { classify, status, statusCode } from "./codec/status.ts";
import { matchId } from "./ids.ts";
import { Link } from "./link.ts";
import { Meter } from "./meter.ts";
import { Pace } from "./pace.ts";
import { ReceiptIntake } from "./receipt-intake.ts";
import { readDelivered } from "./receipt.ts";
import type { BindKind, Delivery, Session } from "./session.ts";
import type { SmppSettings } from "./settings.ts";
import { canEncode, submission } from "./submission.ts";
import type { SubmitAnswer } from "./window.ts";

/** What this process may use of the carrier: bind slots, and segments a second (0: no limit). */
export type Share = { binds: number; rate: number };

export type SmppCarrier = Carrier & {
  /** Takes effect at once: links are added, or end in good order. */
  setShare(share: Share): void;
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

/** The binds that make up one slot. */
const slotBinds: Record<SmppSettings["bind"], BindKind[]> = {
  transceiver: ["transceiver"],
  pair: ["transmitter", "receiver"],
  transmitter: ["transmitter"],
  receiver: ["receiver"],
};

type Waiter = {
  segment: OutgoingSegment;
  signal: AbortSignal;
  resolve: (outcome: SubmitOutcome) => void;
  reject: (error: unknown) => void;
  onAbort: (() => void) | null;
};

const UNSENT: SubmitOutcome = { kind: "unsent" };

/** Several loops may ask for room at the same moment; what they bring beyond this goes back. */
const MOST_WAITING = 20_000;

/** A carrier over SMPP 3.4: some links, one pace over all of them, receipts to one sink. */
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
  readonly #pace: Pace;
  readonly #intake: ReceiptIntake;
  readonly #waiting = new Set<Waiter>();
  readonly #roomListeners: (() => void)[] = [];
  readonly #stopping = new Set<Promise<void>>();
  readonly #statuses = new Map<number, number>();
  readonly #counts: CarrierCounts = noCounts();
  #slots: Link[][] = [];
  #links: Link[] = [];
  #turn = 0;
  #share: Share;
  #isStarted = false;
  #isRoomAnnounced = false;
  /** Of links that are gone. */
  #formerReconnects = 0;

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
      onFull: () => this.#links.forEach((link) => link.pause()),
      onRelieved: () => this.#links.forEach((link) => link.resume()),
    });
  }

  start(): void {
    this.#isStarted = true;
    this.#fillSlots();
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#giveBack();
    this.#fillSlots();
    this.#pace.stop();
    await Promise.all(this.#stopping);
  }

  setShare(share: Share): void {
    this.#share = share;
    this.#pace.setRate(share.rate);
    this.#fillSlots();
  }

  room(): number {
    const free = this.#freeWindow();
    if (free === 0) return 0;
    return Math.max(0, Math.min(free, this.#pace.ahead()) - this.#waiting.size);
  }

  onRoom(listener: () => void): void {
    this.#roomListeners.push(listener);
  }

  canCarry(segment: Pick<OutgoingSegment, "encoding" | "text">): boolean {
    return canEncode(segment, this.#deps.settings);
  }

  submit(segment: OutgoingSegment, signal: AbortSignal): Promise<SubmitOutcome> {
    const isPossible =
      this.#isStarted && !signal.aborted && this.#links.some((link) => link.isBound);
    if (!isPossible || this.#waiting.size >= MOST_WAITING) return Promise.resolve(UNSENT);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { segment, signal, resolve, reject, onAbort: null };
      this.#waiting.add(waiter);
      this.#pump();
      if (!this.#waiting.has(waiter)) return;
      waiter.onAbort = () => this.#release(waiter);
      signal.addEventListener("abort", waiter.onAbort, { once: true });
    });
  }

  state(): CarrierState {
    const bound = this.#links.filter((link) => link.isBound).length;
    const isAllBound = bound > 0 && bound === this.#links.length;
    const statuses = [...this.#statuses].map(([code, count]) => [statusCode(code), count]);
    const reconnects = this.#links.reduce((sum, link) => sum + link.reconnects, 0);
    return {
      state: isAllBound ? "up" : bound > 0 ? "degraded" : "down",
      links: this.#links.map((link) => link.state(this.#pace.isThrottled)),
      ...this.#meter.read(this.#deps.clock.monotonicMs()),
      counts: { ...this.#counts, reconnects: reconnects + this.#formerReconnects },
      statuses: Object.fromEntries(statuses) as Record<string, number>,
    };
  }

  #freeWindow(): number {
    let free = 0;
    if (this.#isStarted) for (const link of this.#links) free += link.room;
    return free;
  }

  /** As many slots as the share allows, and none once stopped. */
  #fillSlots(): void {
    const wanted = this.#isStarted ? this.#share.binds : 0;
    while (this.#slots.length > wanted) this.#slots.pop()?.forEach((link) => this.#retire(link));
    const added: Link[] = [];
    while (this.#slots.length < wanted) {
      const slot = slotBinds[this.#deps.settings.bind].map((bind) => this.#newLink(bind));
      this.#slots.push(slot);
      added.push(...slot);
    }
    this.#links = this.#slots.flat();
    for (const link of added) link.start();
  }

  #retire(link: Link): void {
    this.#formerReconnects += link.reconnects;
    const stopping = link.stop(() => this.#intake.settled());
    this.#stopping.add(stopping);
    void stopping.finally(() => this.#stopping.delete(stopping));
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
        onLost: () => this.#onLost(),
      },
    });
  }

  #onRoom(): void {
    if (this.#waiting.size > 0) this.#pump();
    // Fetched in handfuls: not one claim for each segment that left.
    const isWanted = this.#waiting.size * 2 <= this.#pace.ahead();
    if (this.#isRoomAnnounced || !isWanted) return;
    this.#isRoomAnnounced = true;
    queueMicrotask(() => {
      this.#isRoomAnnounced = false;
      for (const listener of this.#roomListeners) listener();
    });
  }

  #onLost(): void {
    if (!this.#links.some((link) => link.isBound)) this.#giveBack();
  }

  /** Nothing of what waits has left: it goes back, and the order is made anew by whoever claims. */
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

  /** Sends what waits, in order, as far as rate and windows go. */
  #pump(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    let due = this.#pace.due(nowMs);
    for (const waiter of this.#waiting) {
      if (due < 1) return this.#pace.wake(nowMs);
      const session = this.#freestSession();
      if (session === null) return;
      this.#leave(waiter);
      if (this.#send(waiter, session, nowMs)) due -= 1;
    }
  }

  /** The link with the most room, in turn where they are equal. */
  #freestSession(): Session | null {
    let best: Link | undefined;
    this.#turn += 1;
    for (let step = 0; step < this.#links.length; step += 1) {
      const link = this.#links[(this.#turn + step) % this.#links.length];
      if (link !== undefined && link.room > (best?.room ?? 0)) best = link;
    }
    return best?.session ?? null;
  }

  #send({ segment, resolve, reject }: Waiter, session: Session, nowMs: number): boolean {
    const { clock, settings } = this.#deps;
    try {
      const message = submission(segment, settings, () => clock.now());
      if (message === undefined) {
        resolve(CANNOT_CARRY);
        return false;
      }
      this.#pace.took(nowMs);
      session.submit(message, (answer) => resolve(this.#settle(answer, nowMs, session)));
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  }

  #settle(answer: SubmitAnswer, sentAtMs: number, session: Session): SubmitOutcome {
    switch (answer.kind) {
      case "answered":
        return this.#judge(answer, sentAtMs, session);
      case "in_doubt":
        this.#counts.inDoubt += 1;
        this.#pace.answered(sentAtMs, false);
        return {
          kind: "in_doubt",
          why: answer.why,
          ...this.#expectLate(answer, sentAtMs, session),
        };
      case "unsent":
        this.#pace.answered(sentAtMs, false);
        return UNSENT;
    }
  }

  #expectLate(
    { lateAnswer }: Extract<SubmitAnswer, { kind: "in_doubt" }>,
    sentAtMs: number,
    session: Session,
  ): { lateAnswer?: Promise<SubmitOutcome> } {
    if (lateAnswer === undefined) return {};
    const judged = lateAnswer.then((answer): SubmitOutcome => {
      if (answer.kind !== "answered") return { kind: "in_doubt", why: "link_lost" };
      this.#counts.lateAnswers += 1;
      return this.#judge(answer, sentAtMs, session);
    });
    return { lateAnswer: judged };
  }

  #judge(
    { status: code, messageId }: Extract<SubmitAnswer, { kind: "answered" }>,
    sentAtMs: number,
    session: Session,
  ): SubmitOutcome {
    if (code === status.ok) {
      this.#pace.answered(sentAtMs, false);
      this.#counts.accepted += 1;
      if (messageId === "") this.#counts.acceptedWithoutId += 1;
      const { receiptId } = this.#deps.settings;
      return {
        kind: "accepted",
        carrierMessageId: messageId,
        matchId: matchId(messageId, receiptId),
      };
    }
    const { kind, code: errorCode } = classify(code, this.#deps.settings.statusClasses);
    this.#countRefusal(code, kind === "throttled");
    this.#pace.answered(sentAtMs, kind === "throttled");
    if (kind === "throttled") this.#giveBack();
    if (kind === "rebind") this.#rebind(session);
    const temporary = kind !== "permanent";
    return {
      kind: "refused",
      temporary,
      throttled: kind === "throttled",
      code: errorCode,
      carrierCode: statusCode(code),
    };
  }

  #countRefusal(code: number, isThrottled: boolean): void {
    this.#counts.refused += 1;
    if (isThrottled) this.#counts.throttled += 1;
    // A hostile peer could invent statuses for ever.
    if (this.#statuses.size < 1000 || this.#statuses.has(code)) {
      this.#statuses.set(code, (this.#statuses.get(code) ?? 0) + 1);
    }
  }

  #rebind(session: Session): void {
    const link = this.#links.find((candidate) => candidate.session === session);
    link?.rebind(() => this.#intake.settled());
  }

  #onDelivery(delivery: Delivery, session: Session, meter: Meter): void {
    const { carrierId, clock, settings } = this.#deps;
    const { commandId, sequence, message, frame } = delivery;
    const read =
      message === undefined ? { kind: "unreadable" as const } : readDelivered(message, settings);
    const respond = (code: number) => session.respond({ commandId, sequence }, code);
    switch (read.kind) {
      case "unreadable":
        this.#counts.unreadable += 1;
        return respond(status.permanentAppError);
      case "inbound_text":
        this.#counts.inboundTexts += 1;
        return respond(status.ok);
      case "receipt": {
        const nowMs = clock.monotonicMs();
        this.#counts.receipts += 1;
        if (!read.isStateKnown) this.#counts.unknownStates += 1;
        meter.receipt(nowMs);
        const receipt = { carrierId, ...read.receipt, raw: Uint8Array.from(frame) };
        return this.#intake.take(receipt, respond, nowMs);
      }
    }
  }
}

/** Ours and not the carrier's: the text does not fit its alphabet. */
const CANNOT_CARRY: SubmitOutcome = {
  kind: "refused",
  temporary: false,
  throttled: false,
  code: "CONTENT_REJECTED",
  carrierCode: null,
};

function noCounts(): CarrierCounts {
  return {
    accepted: 0,
    acceptedWithoutId: 0,
    refused: 0,
    inDoubt: 0,
    lateAnswers: 0,
    receipts: 0,
    unknownStates: 0,
    unreadable: 0,
    throttled: 0,
    reconnects: 0,
    inboundTexts: 0,
  };
}
