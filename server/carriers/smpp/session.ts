import type { Socket } from "node:net";

import type { Clock, Secret } from "#platform";

import { Binding } from "./binding.ts";
import {
  encodeId,
  readDataSm,
  readId,
  readShortMessage,
  type ShortMessage,
  shortMessageOctets,
  writeShortMessage,
} from "./codec/body.ts";
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
import { Patience } from "./patience.ts";
import type { Trace } from "./pdu-log.ts";
import { PduSocket } from "./pdu-socket.ts";
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

const UNBOUND = "the carrier ended the bind";

/** The status assumed for a generic_nack without one: it refuses and gives no reason. */
const UNKNOWN_ERROR = 0xff;

/**
 * One connection, from connect to close. `Binding` handles its beginning and `Leaving` its orderly
 * end; this class handles what is between. Each connection gets a new session, so that nothing of
 * the old one leaks into it.
 */
export class Session {
  readonly #deps: Deps;
  readonly #socket: Socket;
  readonly #pdus: PduSocket;
  readonly #window = new Window();
  readonly #patience = new Patience();
  readonly #liveness: Liveness;
  readonly #responseTimer: ResponseTimer;
  readonly #binding: Binding;
  readonly #leaving: Leaving;
  #state: "unbound" | "bound" | "closed" = "unbound";
  #nowMs = 0;
  #pausedAtMs: number | null = null;
  #problem = "the carrier closed the connection";

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
      unbind: (why) => this.#unbind(why),
      answerUnbind: (sequence) => this.#answerUnbind(sequence),
      onUnanswered: (problem) => this.#end({ why: "stopped", problem }),
    });
    const { socket, readyEvent } = dial(settings);
    this.#socket = socket;
    this.#pdus = new PduSocket(socket, {
      maxPdu: settings.maxPdu,
      onRead: () => this.#onRead(),
      onPdu: (frame) => this.#read(frame),
      onUnreadable: () => this.#breakOff(),
      beforeWrite: () => window.written(),
    });
    this.#binding = new Binding({
      ...deps,
      patience,
      socket,
      nextSequence: () => window.nextSequence(),
      put: (pdu) => this.#put(pdu),
      onBound: () => this.#onBound(),
      onEnd: (end) => this.#end(end),
    });
    this.#listen(readyEvent);
  }

  get inFlight(): number {
    return this.#window.size;
  }

  /** Whether it only stays open for the answers on their way and takes nothing new. */
  get isLeaving(): boolean {
    return this.#leaving.hasBegun;
  }

  /** How many submits it takes now. */
  get room(): number {
    const takes =
      this.#state === "bound" && !this.#leaving.hasBegun && !this.#pdus.outbox.isBlocked;
    if (!takes || this.#deps.bind === "receiver") return 0;
    return this.#deps.settings.window - this.#window.size;
  }

  /** Call only if there is `room`. Calls `settle` exactly once, even if the connection closes. */
  submit(message: ShortMessage, settle: (answer: SubmitAnswer) => void): void {
    const { clock, meter, settings, trace } = this.#deps;
    const { outbox } = this.#pdus;
    const sentAtMs = clock.monotonicMs();
    const sequence = this.#window.nextSequence();
    const slab = outbox.reserve(shortMessageOctets(message));
    const start = outbox.position;
    const head = { commandId: command.submitSm, status: 0, sequence };
    const end = writeShortMessage(slab, start, head, message);
    const deadlineMs = sentAtMs + settings.responseTimeoutMs;
    this.#window.add(sequence, { sentAtMs, deadlineMs, settle });
    outbox.advance(end);
    trace?.("sent", slab.subarray(start, end));
    meter.submitted(sentAtMs);
    if (this.#pausedAtMs === null) this.#responseTimer.arm(deadlineMs);
  }

  /** Answers a delivery. Has no effect once the connection is closed: the peer repeats it. */
  respond({ commandId, sequence }: Pick<Delivery, "commandId" | "sequence">, code: number): void {
    this.#put(encodeId({ commandId: responseTo(commandId), status: code, sequence }, ""));
    this.#leaving.responded();
  }

  /** Stops reading, and every timer that would blame the peer for its silence. */
  pause(): void {
    if (this.#pausedAtMs !== null || this.#state !== "bound" || this.#leaving.isUnbinding) return;
    this.#pausedAtMs = this.#deps.clock.monotonicMs();
    this.#pdus.pause();
    this.#leaving.pause();
    this.#liveness.stop();
    this.#responseTimer.stop();
  }

  resume(): void {
    if (this.#pausedAtMs === null || this.#state === "closed") return;
    const pausedMs = this.#deps.clock.monotonicMs() - this.#pausedAtMs;
    this.#pausedAtMs = null;
    this.#pdus.resume();
    this.#window.extend(pausedMs);
    this.#responseTimer.arm();
    this.#leaving.resume();
    const isEnding = this.#leaving.isAsked || this.#leaving.isUnbinding;
    if (!isEnding) this.#liveness.watchAfterPause(pausedMs);
  }

  /** Submits no more, waits for the answers and for `settled`, unbinds and closes. */
  async stop(settled: () => Promise<void>, why = "stopped"): Promise<void> {
    if (this.#state === "bound") await this.#leaving.leave(settled, why);
    else this.#end({ why: "stopped", problem: why });
  }

  /** The connection is useless now: what was written and not answered is in doubt. */
  #abandon(problem: string): void {
    this.#end({ why: "lost", problem });
  }

  #listen(readyEvent: string): void {
    const portDoubt = () => this.#binding.portDoubt();
    this.#socket.on(readyEvent, () => this.#onConnected());
    this.#socket.on("drain", () => this.#deps.events.onRoom());
    this.#socket.on("error", (error) => {
      this.#problem = `${connectionProblem(error)}${isNotUnderstood(error) ? portDoubt() : ""}`;
    });
    this.#socket.on("close", (hadError) =>
      this.#abandon(hadError ? this.#problem : `${this.#problem}${portDoubt()}`),
    );
  }

  #onConnected(): void {
    if (this.#state === "closed") return;
    this.#binding.ask();
    this.#deps.events.onConnected();
  }

  #onRead(): void {
    this.#patience.heard();
    this.#nowMs = this.#deps.clock.monotonicMs();
  }

  #breakOff(): void {
    this.#put(bare(command.genericNack, status.invalidCommandLength, 0));
    this.#abandon(
      this.#binding.isAsked
        ? "what answers there does not speak SMPP: check the port and --tls"
        : "the carrier sent a PDU of impossible length",
    );
  }

  #read(frame: Buffer): void {
    // A bind can end in the middle of a read; the rest of that read is ignored.
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

  /** Called when the window has more room. */
  #onWindow(): void {
    this.#deps.events.onRoom();
    this.#leaving.answered();
  }

  /** Whether this answers a bind, an enquire_link or an unbind of ours. */
  #onOwnAnswer(sequence: number, code: number): boolean {
    if (this.#binding.takeAnswer(sequence, code)) return true;
    if (!this.#leaving.takeAnswer(sequence)) return this.#liveness.takeAnswer(sequence);
    this.#end({ why: "stopped", problem: this.#problem });
    return true;
  }

  #onBound(): void {
    this.#state = "bound";
    this.#liveness.watch();
    this.#deps.events.onBound();
  }

  #onDelivery(delivery: Delivery): void {
    this.#leaving.delivered();
    this.#deps.events.onDelivery(delivery, this);
  }

  #onUnbind(sequence: number): void {
    if (this.#state !== "bound" || this.#leaving.isUnbinding) return this.#answerUnbind(sequence);
    if (!this.#leaving.asked(sequence)) return;
    this.#liveness.stop();
    this.#deps.events.onLeaving(UNBOUND);
    this.#leaving.complyIfDone();
  }

  #answerUnbind(sequence: number): void {
    this.#put(bare(command.unbindResp, status.ok, sequence));
    this.#abandon(UNBOUND);
  }

  #unbind(why: string): number {
    this.#problem = why;
    this.#liveness.stop();
    return this.#request(command.unbind);
  }

  /** Sends a request without a body; returns its sequence number. */
  #request(commandId: number): number {
    const sequence = this.#window.nextSequence();
    this.#put(bare(commandId, 0, sequence));
    return sequence;
  }

  #put(pdu: Buffer): void {
    if (this.#state === "closed") return;
    this.#pdus.outbox.put(pdu);
    this.#deps.trace?.("sent", pdu);
  }

  #end(end: SessionEnd): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#pdus.close(this.#deps.clock);
    this.#patience.end();
    this.#binding.end();
    this.#liveness.stop();
    this.#responseTimer.stop();
    this.#window.close();
    this.#leaving.end();
    this.#deps.events.onEnd(end);
  }
}
