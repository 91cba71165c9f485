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
import { type Framer, framer } from "./codec/frame.ts";
import {
  bare,
  command,
  commandName,
  isResponse,
  readCommandId,
  readSequence,
  readStatus,
  responseTo,
} from "./codec/header.ts";
import { status, statusName } from "./codec/status.ts";
import { dial } from "./connect.ts";
import { connectionProblem, isNotUnderstood } from "./connection-problem.ts";
import { Leaving } from "./leaving.ts";
import { Liveness } from "./liveness.ts";
import type { Meter } from "./meter.ts";
import { Outbox } from "./outbox.ts";
import { Patience } from "./patience.ts";
import type { Trace } from "./pdu-log.ts";
import { ResponseTimer } from "./response-timer.ts";
import type { BindKind, Delivery, SessionEnd, SessionEvents } from "./session-events.ts";
import type { SmppSettings } from "./settings.ts";
import { type SubmitAnswer, Window } from "./window.ts";

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

/** How long the last octets of a connection may take to leave. */
const LINGER_MS = 1000;

const UNBOUND = "the carrier ended the bind";

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
  readonly #push: Framer;
  readonly #window = new Window();
  readonly #patience = new Patience();
  readonly #liveness: Liveness;
  readonly #responseTimer: ResponseTimer;
  readonly #leaving: Leaving;
  #state: "connecting" | "binding" | "bound" | "unbinding" | "closed" = "connecting";
  /** Our own requests that are neither submit nor enquire_link; 0 where none waits. */
  #bindSequence = 0;
  #unbindSequence = 0;
  /** Submits handed to the outbox, and how many of them it has handed to the socket. */
  #submitted = 0;
  #written = 0;
  #nowMs = 0;
  #pausedAtMs: number | null = null;
  #problem = "the carrier closed the connection";
  #cancelPhase = () => {};
  readonly #ended = Promise.withResolvers<void>();

  constructor(deps: Deps) {
    const { clock, settings } = deps;
    const [patience, window] = [this.#patience, this.#window];
    this.#deps = deps;
    this.#responseTimer = new ResponseTimer({
      clock,
      patience,
      window,
      onTimeout: () => this.#onWindow(),
      onDead: () => this.#abandon("the carrier does not answer submissions"),
    });
    this.#liveness = new Liveness({
      clock,
      patience,
      idleMs: settings.enquireLinkMs,
      timeoutMs: settings.enquireLinkTimeoutMs,
      ask: () => this.#request(command.enquireLink),
      onAnswer: () => deps.events.onEnquired(),
      onDead: () => this.#abandon("the carrier does not answer enquire_link"),
    });
    this.#leaving = new Leaving({
      clock,
      patience,
      window,
      limitMs: settings.unbindTimeoutMs,
      answerUnbind: (sequence) => this.#answerUnbind(sequence),
    });
    this.#push = framer(settings.maxPdu, (frame) => this.#read(frame));
    const { socket, readyEvent } = dial(settings);
    this.#socket = socket;
    this.#outbox = new Outbox(socket, () => {
      this.#written = this.#submitted;
    });
    this.#listen(readyEvent);
    this.#limit(settings.connectTimeoutMs, () => this.#unmade());
  }

  get inFlight(): number {
    return this.#window.size;
  }

  /** It still stands, for the answers on their way, and takes nothing new. */
  get isLeaving(): boolean {
    return this.#leaving.hasBegun;
  }

  /** How many submits it takes now. */
  get room(): number {
    const takes = this.#state === "bound" && !this.#leaving.hasBegun && !this.#outbox.isBlocked;
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
    if (this.#pausedAtMs === null) this.#responseTimer.arm(deadlineMs);
  }

  /** Answers a delivery; without effect once the connection is closed: the peer repeats it. */
  respond({ commandId, sequence }: Pick<Delivery, "commandId" | "sequence">, code: number): void {
    this.#put(encodeId({ commandId: responseTo(commandId), status: code, sequence }, ""));
    this.#leaving.responded();
  }

  /** Stops reading, and with it every clock that blames the peer for not being heard. */
  pause(): void {
    if (this.#pausedAtMs !== null || this.#state !== "bound") return;
    this.#pausedAtMs = this.#deps.clock.monotonicMs();
    this.#socket.pause();
    this.#leaving.pause();
    this.#liveness.stop();
    this.#responseTimer.stop();
  }

  resume(): void {
    if (this.#pausedAtMs === null || this.#state === "closed") return;
    const pausedMs = this.#deps.clock.monotonicMs() - this.#pausedAtMs;
    this.#pausedAtMs = null;
    this.#socket.resume();
    this.#window.extend(pausedMs);
    this.#responseTimer.arm();
    this.#leaving.resume();
    const isWatched = this.#state === "bound" && !this.#leaving.isAsked;
    if (isWatched) this.#liveness.watchAfterPause(pausedMs);
  }

  /** Submits no more, waits for the answers and for `settled`, unbinds, closes. */
  async stop(settled: () => Promise<void>, why = "stopped"): Promise<void> {
    this.#leaving.begin();
    if (this.#state === "bound") {
      await this.#leaving.drained();
      await settled();
      // Where the carrier unbinds by itself, ours is not needed.
      this.#leaving.comply();
    }
    if (this.#state === "unbinding") return this.#ended.promise;
    if (this.#state !== "bound") return this.#end({ why: "stopped", problem: why });
    this.#unbind(why);
    await this.#ended.promise;
  }

  /** The connection is of no use any more: what was written and not answered is in doubt. */
  #abandon(problem: string): void {
    this.#end({ why: "lost", problem });
  }

  #listen(readyEvent: string): void {
    this.#socket.on(readyEvent, () => this.#sendBind());
    this.#socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#socket.on("drain", () => this.#onDrain());
    this.#socket.on("error", (error) => {
      this.#problem = `${connectionProblem(error)}${isNotUnderstood(error) ? this.#portDoubt() : ""}`;
    });
    this.#socket.on("close", (hadError) =>
      this.#abandon(hadError ? this.#problem : `${this.#problem}${this.#portDoubt()}`),
    );
  }

  #unmade(): string {
    const doubt = this.#portDoubt();
    return doubt === ""
      ? "the connection could not be made in time"
      : `no TLS connection came about in time${doubt}`;
  }

  /** What to look at where the two sides have not understood each other yet. */
  #portDoubt(): string {
    const { tls } = this.#deps.settings;
    if (tls && this.#state === "connecting" && !this.#socket.connecting)
      return "; perhaps the port speaks no TLS: check the port and --tls";
    if (!tls && this.#state === "binding")
      return "; perhaps the port speaks TLS: check the port and --tls";
    return "";
  }

  #limit(ms: number, problem: () => string): void {
    const phase = this.#state;
    this.#cancelPhase();
    this.#cancelPhase = this.#deps.clock.timer(ms, () =>
      this.#patience.thenJudge(() => {
        if (this.#state === phase) this.#abandon(problem());
      }),
    );
  }

  #sendBind(): void {
    if (this.#state !== "connecting") return;
    const { settings, bind, password, events } = this.#deps;
    this.#state = "binding";
    this.#limit(settings.bindTimeoutMs, () => "the carrier did not answer the bind");
    this.#bindSequence = this.#window.nextSequence();
    const fields = { ...settings, password: password.reveal() };
    this.#put(encodeBind(bindCommands[bind], this.#bindSequence, fields));
    events.onConnected();
  }

  #onData(chunk: Buffer): void {
    if (this.#state === "closed") return;
    this.#patience.heard();
    this.#nowMs = this.#deps.clock.monotonicMs();
    const isReadable = this.#push(chunk);
    if (!isReadable) return this.#breakOff();
    // A peer that does not read its answers gets no more of them.
    if (this.#outbox.isStuck) this.#socket.pause();
  }

  /** After an impossible length nobody knows where the next PDU begins. */
  #breakOff(): void {
    this.#put(bare(command.genericNack, status.invalidCommandLength, 0));
    this.#abandon(
      this.#state === "binding"
        ? "what answers there does not speak SMPP: check the port and --tls"
        : "the carrier sent a PDU of impossible length",
    );
  }

  #onDrain(): void {
    if (this.#pausedAtMs === null) this.#socket.resume();
    this.#deps.events.onRoom();
  }

  #read(frame: Buffer): void {
    // A bind can end in the middle of a read; what stands behind it is not ours any more.
    if (this.#state === "closed") return;
    this.#liveness.heard(this.#nowMs);
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
        return void this.#onOwnAnswer(sequence, code);
      // These two have no response.
      case command.alertNotification:
      case command.outbind:
        return;
      default:
        this.#deps.events.onOdd(`${commandName(commandId)} is not known here`);
        if (isResponse(commandId)) return;
        this.#put(bare(command.genericNack, status.invalidCommandId, sequence));
    }
  }

  #onNack(sequence: number, code: number): void {
    if (!this.#onOwnAnswer(sequence, code)) this.#onAnswer(sequence, code, "");
  }

  #onAnswer(sequence: number, code: number, messageId: string): void {
    const answered = this.#window.answer(sequence, code, messageId);
    if (answered === undefined) return this.#onUnmatched(sequence, code);
    this.#liveness.answered();
    if (answered === "late") return this.#responseTimer.answered();
    this.#responseTimer.answered(answered.sentAtMs);
    this.#deps.meter.answered(this.#nowMs, this.#nowMs - answered.sentAtMs);
    this.#onWindow();
  }

  #onUnmatched(sequence: number, code: number): void {
    const what = `an answer ${statusName(code)} to ${sequence}, which nothing waits for`;
    this.#deps.events.onOdd(what);
  }

  /** There is more room in the window than a moment ago. */
  #onWindow(): void {
    this.#deps.events.onRoom();
    this.#leaving.answered();
  }

  /** Whether that answers a bind, an enquire_link or an unbind of ours. */
  #onOwnAnswer(sequence: number, code: number): boolean {
    if (sequence === 0) return false;
    if (sequence === this.#bindSequence) this.#onBindAnswer(code);
    else if (sequence === this.#unbindSequence)
      this.#end({ why: "stopped", problem: this.#problem });
    else return this.#liveness.takeAnswer(sequence);
    return true;
  }

  #onBindAnswer(code: number): void {
    this.#bindSequence = 0;
    if (code !== status.ok) {
      const hint =
        code === status.invalidSystemType ? "; set the one it knows by --system-type" : "";
      const problem = `the carrier refused the bind: ${statusName(code)}${hint}`;
      return this.#end({ why: "bind_refused", status: code, problem });
    }
    this.#cancelPhase();
    this.#state = "bound";
    this.#liveness.watch();
    this.#deps.events.onBound();
  }

  #onDelivery(delivery: Delivery): void {
    this.#leaving.delivered();
    this.#deps.events.onDelivery(delivery, this);
  }

  #onUnbind(sequence: number): void {
    if (this.#state !== "bound") return this.#answerUnbind(sequence);
    if (!this.#leaving.asked(sequence)) return;
    this.#liveness.stop();
    this.#deps.events.onLeaving(UNBOUND);
    this.#leaving.complyIfDone();
  }

  #answerUnbind(sequence: number): void {
    this.#put(bare(command.unbindResp, status.ok, sequence));
    this.#abandon(UNBOUND);
  }

  #unbind(why: string): void {
    const { clock, settings } = this.#deps;
    this.#state = "unbinding";
    this.#problem = why;
    this.#liveness.stop();
    this.#unbindSequence = this.#request(command.unbind);
    const problem = `${why}; the carrier did not answer the unbind`;
    this.#cancelPhase = clock.timer(settings.unbindTimeoutMs, () =>
      this.#end({ why: "stopped", problem }),
    );
  }

  /** Sends a request without a body; says its sequence number. */
  #request(commandId: number): number {
    const sequence = this.#window.nextSequence();
    this.#put(bare(commandId, 0, sequence));
    return sequence;
  }

  #put(pdu: Buffer): void {
    if (this.#state === "closed") return;
    this.#outbox.put(pdu);
    this.#deps.trace?.("sent", pdu);
  }

  #end(end: SessionEnd): void {
    if (this.#state === "closed") return;
    this.#outbox.flush();
    this.#state = "closed";
    this.#patience.end();
    this.#cancelPhase();
    this.#liveness.stop();
    this.#responseTimer.stop();
    this.#close();
    this.#window.close(this.#written);
    this.#leaving.end();
    this.#ended.resolve();
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
