import type { Socket } from "node:net";

import type { Clock, Secret } from "#platform";

import {
  encodeBind,
  encodeId,
  readDataSm,
  readId,
  readShortMessage,
  type ShortMessage,
  shortMessageOctets,
  writeShortMessage,
} from "./codec/body.ts";
import { framer } from "./codec/frame.ts";
import {
  bare,
  command,
  isResponse,
  readCommandId,
  readSequence,
  readStatus,
  responseTo,
} from "./codec/header.ts";
import { status, statusName } from "./codec/status.ts";
import { dial } from "./connect.ts";
import type { Meter } from "./meter.ts";
import { Outbox } from "./outbox.ts";
import type { Trace } from "./pdu-log.ts";
import type { SmppSettings } from "./settings.ts";
import { type SubmitAnswer, Window } from "./window.ts";

export type BindKind = "transmitter" | "receiver" | "transceiver";

/** Why a connection is over; each session ends once, and is never used again. */
export type SessionEnd =
  | { why: "bind_refused"; status: number; problem: string }
  | { why: "lost" | "stopped"; problem: string };

/** A request of the peer that waits for `respond`; undefined where its body cannot be read. */
export type Delivery = {
  commandId: number;
  sequence: number;
  message: ShortMessage<Buffer> | undefined;
  /** Only lent, like the views in the message: copy what is kept. */
  frame: Buffer;
};

export type SessionEvents = {
  onConnected(): void;
  onBound(): void;
  /** A submit was answered, or the socket takes more again. */
  onRoom(): void;
  onDelivery(delivery: Delivery, session: Session): void;
  onEnd(end: SessionEnd): void;
};

type Deps = {
  settings: SmppSettings;
  bind: BindKind;
  password: Secret;
  clock: Clock;
  meter: Meter;
  trace: Trace | undefined;
  events: SessionEvents;
};

const bindCommands = {
  transmitter: command.bindTransmitter,
  receiver: command.bindReceiver,
  transceiver: command.bindTransceiver,
};

/** A bind that answers nothing is dead, though its connection stands. */
const TIMEOUTS_IN_A_ROW = 3;

/** Turns of the event loop in which what was already received is read before a time-out is judged. */
const READING_TURNS = { atLeast: 2, atMost: 32 };

/** How long the last octets of a connection may take to leave. */
const LINGER_MS = 1000;

/** What a generic_nack without a status stands for: it refuses, and does not say why. */
const UNKNOWN_ERROR = 0xff;

/**
 * One connection, from connect to close: connecting, binding, bound, unbinding, closed. A new
 * connection is a new session, so that nothing of the old one leaks into it.
 */
export class Session {
  readonly #deps: Deps;
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  readonly #window = new Window();
  readonly #push: (chunk: Buffer) => boolean;
  #state: "connecting" | "binding" | "bound" | "unbinding" | "closed" = "connecting";
  #isStopping = false;
  /** Our own requests that are not submits; 0 where none waits. */
  #bindSequence = 0;
  #enquireSequence = 0;
  #unbindSequence = 0;
  /** Submits handed to the outbox, and how many of them it has handed to the socket. */
  #submitted = 0;
  #written = 0;
  #timeoutsInARow = 0;
  #chunks = 0;
  #nowMs: number;
  #lastPduMs: number;
  #pausedAtMs: number | null = null;
  #problem = "the carrier closed the connection";
  #cancelPhase = () => {};
  #cancelEnquire = () => {};
  #cancelResponse: (() => void) | null = null;
  #onDrained: (() => void)[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#nowMs = deps.clock.monotonicMs();
    this.#lastPduMs = this.#nowMs;
    const { socket, readyEvent } = dial(deps.settings);
    this.#socket = socket;
    this.#outbox = new Outbox(socket, () => {
      this.#written = this.#submitted;
    });
    this.#push = framer(deps.settings.maxPdu, (frame) => this.#read(frame));
    socket.on(readyEvent, () => this.#sendBind());
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("drain", () => this.#onDrain());
    socket.on("error", (error) => {
      this.#problem = error.message;
    });
    socket.on("close", () => this.#end({ why: "lost", problem: this.#problem }));
    this.#limit(deps.settings.connectTimeoutMs, "the connection could not be made in time");
  }

  get inFlight(): number {
    return this.#window.size;
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** How many submits it takes now. */
  get room(): number {
    const takes = this.#state === "bound" && !this.#isStopping && !this.#outbox.isBlocked;
    if (!takes || this.#deps.bind === "receiver") return 0;
    return this.#deps.settings.window - this.#window.size;
  }

  /** Only with `room`. `settle` is called exactly once, also when the connection closes. */
  submit(message: ShortMessage, settle: (answer: SubmitAnswer) => void): void {
    const { clock, meter, settings, trace } = this.#deps;
    const sentAtMs = clock.monotonicMs();
    const sequence = this.#window.nextSequence();
    const slab = this.#outbox.reserve(shortMessageOctets(message));
    const start = this.#outbox.position;
    const head = { commandId: command.submitSm, status: 0, sequence };
    const end = writeShortMessage(slab, start, head, message);
    const deadlineMs = sentAtMs + settings.responseTimeoutMs;
    this.#window.add(sequence, { ordinal: ++this.#submitted, sentAtMs, deadlineMs, settle });
    this.#outbox.advance(end);
    trace?.("sent", slab.subarray(start, end));
    meter.submitted(sentAtMs);
    if (this.#cancelResponse === null) this.#armResponseTimer(sentAtMs);
  }

  /** Answers a delivery; without effect once the connection is closed: the peer repeats it. */
  respond({ commandId, sequence }: Omit<Delivery, "message" | "frame">, code: number): void {
    this.#put(encodeId({ commandId: responseTo(commandId), status: code, sequence }, ""));
  }

  /** Stops reading, and with it every clock that blames the peer for not being heard. */
  pause(): void {
    if (this.#pausedAtMs !== null || this.#state !== "bound") return;
    this.#pausedAtMs = this.#deps.clock.monotonicMs();
    this.#socket.pause();
    this.#cancelEnquire();
    this.#cancelResponse?.();
    this.#cancelResponse = null;
  }

  resume(): void {
    if (this.#pausedAtMs === null || this.#state === "closed") return;
    const nowMs = this.#deps.clock.monotonicMs();
    this.#window.extend(nowMs - this.#pausedAtMs);
    this.#lastPduMs += nowMs - this.#pausedAtMs;
    this.#pausedAtMs = null;
    this.#socket.resume();
    this.#armResponseTimer(nowMs);
    this.#armEnquire(nowMs);
  }

  /** Submits no more, waits for the answers and for `settled`, unbinds, closes. */
  async stop(settled: () => Promise<void>): Promise<void> {
    this.#isStopping = true;
    if (this.#state === "bound") {
      await this.#drained();
      await settled();
    }
    if (this.#state !== "bound") return this.#end({ why: "stopped", problem: "stopped" });
    this.#state = "unbinding";
    this.#cancelEnquire();
    this.#unbindSequence = this.#window.nextSequence();
    this.#put(bare(command.unbind, 0, this.#unbindSequence));
    await new Promise<void>((resolve) => {
      this.#onDrained.push(resolve);
      const { clock, settings } = this.#deps;
      this.#cancelPhase = clock.timer(settings.unbindTimeoutMs, () =>
        this.#end({ why: "stopped", problem: "stopped; the carrier did not answer the unbind" }),
      );
    });
  }

  /** Our idea of the connection is wrong, or nobody needs it: in doubt is what was written. */
  abandon(problem: string): void {
    this.#end({ why: "lost", problem });
  }

  #drained(): Promise<void> {
    if (this.#window.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  #announceDrained(): void {
    const listeners = this.#onDrained;
    this.#onDrained = [];
    for (const listener of listeners) listener();
  }

  #limit(ms: number, problem: string): void {
    this.#cancelPhase();
    this.#cancelPhase = this.#deps.clock.timer(ms, () =>
      this.#afterReading(() => this.#end({ why: "lost", problem })),
    );
  }

  #sendBind(): void {
    if (this.#state !== "connecting") return;
    const { settings, bind, password, events } = this.#deps;
    this.#state = "binding";
    this.#limit(settings.bindTimeoutMs, "the carrier did not answer the bind");
    this.#bindSequence = this.#window.nextSequence();
    const fields = { ...settings, password: password.reveal() };
    this.#put(encodeBind(bindCommands[bind], this.#bindSequence, fields));
    events.onConnected();
  }

  #onData(chunk: Buffer): void {
    if (this.#state === "closed") return;
    this.#chunks += 1;
    this.#nowMs = this.#deps.clock.monotonicMs();
    const isReadable = this.#push(chunk);
    if (!isReadable) return this.#breakOff();
    if (this.#outbox.isStuck) this.#socket.pause();
  }

  /** After an impossible length nobody knows where the next PDU begins. */
  #breakOff(): void {
    this.#put(bare(command.genericNack, status.invalidCommandLength, 0));
    this.#end({ why: "lost", problem: "the carrier sent a PDU of impossible length" });
  }

  #onDrain(): void {
    if (this.#pausedAtMs === null) this.#socket.resume();
    this.#deps.events.onRoom();
  }

  #read(frame: Buffer): void {
    // A bind can end in the middle of a read; what stands behind it is not ours any more.
    if (this.isClosed) return;
    this.#lastPduMs = this.#nowMs;
    this.#deps.trace?.("received", frame);
    const [commandId, sequence] = [readCommandId(frame), readSequence(frame)];
    switch (commandId) {
      case command.submitSmResp:
        return this.#onAnswer(sequence, readStatus(frame), readId(frame));
      case command.deliverSm:
        return this.#onDelivery({ commandId, sequence, message: readShortMessage(frame), frame });
      case command.dataSm:
        return this.#onDelivery({ commandId, sequence, message: readDataSm(frame), frame });
      case command.enquireLink:
        return this.#put(bare(command.enquireLinkResp, status.ok, sequence));
      case command.genericNack:
        return this.#onNack(sequence, readStatus(frame) || UNKNOWN_ERROR);
      case command.unbind:
        return this.#onUnbind(sequence);
      default:
        return this.#onSeldom(commandId, sequence, readStatus(frame));
    }
  }

  #onSeldom(commandId: number, sequence: number, code: number): void {
    switch (commandId) {
      case command.bindReceiverResp:
      case command.bindTransmitterResp:
      case command.bindTransceiverResp:
      case command.enquireLinkResp:
      case command.unbindResp:
        return this.#onOwnAnswer(sequence, code);
      // These two have no response.
      case command.alertNotification:
      case command.outbind:
        return;
      default:
        if (!isResponse(commandId)) {
          this.#put(bare(command.genericNack, status.invalidCommandId, sequence));
        }
    }
  }

  #onNack(sequence: number, code: number): void {
    const isOwn = [this.#bindSequence, this.#enquireSequence, this.#unbindSequence].includes(
      sequence,
    );
    if (isOwn) this.#onOwnAnswer(sequence, code);
    else this.#onAnswer(sequence, code, "");
  }

  #onAnswer(sequence: number, code: number, messageId: string): void {
    const answered = this.#window.answer(sequence, code, messageId);
    if (answered === undefined) return;
    this.#timeoutsInARow = 0;
    if (answered === "late") return;
    this.#deps.meter.answered(this.#nowMs, this.#nowMs - answered.sentAtMs);
    this.#deps.events.onRoom();
    if (this.#isStopping && this.#window.size === 0) this.#announceDrained();
  }

  #onOwnAnswer(sequence: number, code: number): void {
    if (sequence === 0) return;
    if (sequence === this.#bindSequence) return this.#onBindAnswer(code);
    if (sequence === this.#unbindSequence) return this.#end({ why: "stopped", problem: "stopped" });
    if (sequence !== this.#enquireSequence) return;
    this.#enquireSequence = 0;
    this.#cancelEnquire();
    this.#armEnquire(this.#nowMs);
  }

  #onBindAnswer(code: number): void {
    this.#bindSequence = 0;
    if (this.#state !== "binding") return;
    if (code !== status.ok) {
      const problem = `the carrier refused the bind: ${statusName(code)}`;
      return this.#end({ why: "bind_refused", status: code, problem });
    }
    this.#cancelPhase();
    this.#state = "bound";
    this.#armEnquire(this.#nowMs);
    this.#deps.events.onBound();
  }

  #onDelivery(delivery: Delivery): void {
    this.#deps.events.onDelivery(delivery, this);
  }

  #onUnbind(sequence: number): void {
    this.#put(bare(command.unbindResp, status.ok, sequence));
    this.#end({ why: "lost", problem: "the carrier ended the bind" });
  }

  #put(pdu: Buffer): void {
    if (this.#state === "closed") return;
    this.#outbox.put(pdu);
    this.#deps.trace?.("sent", pdu);
  }

  #armEnquire(nowMs: number): void {
    if (this.#state !== "bound") return;
    const { clock, settings } = this.#deps;
    const idleAtMs = this.#lastPduMs + settings.enquireLinkMs;
    this.#cancelEnquire = clock.timer(Math.max(0, idleAtMs - nowMs), () => {
      const laterMs = clock.monotonicMs();
      if (this.#lastPduMs + settings.enquireLinkMs > laterMs) this.#armEnquire(laterMs);
      else this.#enquire();
    });
  }

  #enquire(): void {
    const { clock, settings } = this.#deps;
    const sequence = this.#window.nextSequence();
    this.#enquireSequence = sequence;
    this.#put(bare(command.enquireLink, 0, sequence));
    this.#cancelEnquire = clock.timer(settings.enquireLinkTimeoutMs, () =>
      this.#afterReading(() => {
        if (this.#enquireSequence !== sequence || this.#pausedAtMs !== null) return;
        this.#end({ why: "lost", problem: "the carrier does not answer enquire_link" });
      }),
    );
  }

  #armResponseTimer(nowMs: number): void {
    const deadlineMs = this.#window.nextDeadlineMs();
    if (deadlineMs === undefined || this.#pausedAtMs !== null) return;
    const { clock } = this.#deps;
    this.#cancelResponse = clock.timer(Math.max(0, deadlineMs - nowMs), () => {
      const firedAtMs = clock.monotonicMs();
      this.#afterReading(() => this.#judgeTimeouts(firedAtMs));
    });
  }

  #judgeTimeouts(firedAtMs: number): void {
    // Paused meanwhile: the deadlines are about to move.
    if (this.#pausedAtMs !== null) return;
    this.#cancelResponse = null;
    const expired = this.#window.expire(firedAtMs);
    this.#timeoutsInARow += expired;
    if (this.#timeoutsInARow >= TIMEOUTS_IN_A_ROW) {
      return this.#end({ why: "lost", problem: "the carrier does not answer submissions" });
    }
    this.#armResponseTimer(this.#deps.clock.monotonicMs());
    if (expired > 0) this.#deps.events.onRoom();
    if (this.#isStopping && this.#window.size === 0) this.#announceDrained();
  }

  /**
   * A busy process finds the timer due before it has read the answer that lies in its own buffer.
   * So the reads come first, until a turn brings nothing more.
   */
  #afterReading(judge: () => void, turn = 1, seen = -1): void {
    setImmediate(() => {
      if (this.#state === "closed") return;
      const isQuiet = seen === this.#chunks && turn >= READING_TURNS.atLeast;
      if (isQuiet || turn >= READING_TURNS.atMost) judge();
      else this.#afterReading(judge, turn + 1, this.#chunks);
    });
  }

  #end(end: SessionEnd): void {
    if (this.#state === "closed") return;
    this.#outbox.flush();
    this.#state = "closed";
    this.#cancelPhase();
    this.#cancelEnquire();
    this.#cancelResponse?.();
    this.#close();
    this.#window.close(this.#written);
    this.#announceDrained();
    this.#deps.events.onEnd(end);
  }

  /** The last PDU may still leave, but a peer that does not take it holds up nothing. */
  #close(): void {
    if (this.#socket.destroyed) return;
    const cancel = this.#deps.clock.timer(LINGER_MS, () => this.#socket.destroy());
    this.#socket.once("close", cancel);
    if (this.#socket.connecting) this.#socket.destroy();
    else this.#socket.destroySoon();
  }
}
