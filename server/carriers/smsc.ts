import { createServer as createTcpServer, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { type Clock, systemClock } from "#platform";

import { behaviourOf, isSpecial, REFUSED_STATUS, SILENCE_MS } from "./behaviour.ts";
import { type Bind, encodeId, type ShortMessage } from "./smpp/codec/body.ts";
import { bare, command, responseTo } from "./smpp/codec/header.ts";
import { status } from "./smpp/codec/status.ts";
import { Connection, type PduSeen } from "./smsc-connection.ts";
import { type OwedReceipt, receiptPdu } from "./smsc-receipt.ts";
import {
  type BindReply,
  defaultReceipts,
  type ReceiptScript,
  type ReceivedSubmit,
  type Reply,
  type SmscOptions,
} from "./smsc-script.ts";
import { readSubmit } from "./smsc-submit.ts";

/** An SMSC that does as its script says, and remembers what it was sent. */
export type Smsc = {
  readonly host: string;
  readonly port: number;
  /** From now on. */
  answer(answer: NonNullable<SmscOptions["answer"]>): void;
  answerBinds(bind: NonNullable<SmscOptions["bind"]>): void;
  sendReceipts(script: Partial<ReceiptScript>): void;
  received(): ReceivedSubmit[];
  submitCount(): number;
  /** Resolves with the nth submit since the start, also when it is there already. */
  submitArrived(nth?: number): Promise<ReceivedSubmit>;
  /** Resolves when so many binds stand at once. */
  bound(binds?: number): Promise<void>;
  /** Resolves when so many PDUs of that kind have come since the start; with the last of them. */
  pduArrived(commandId: number, nth?: number): Promise<PduSeen>;
  /** How many of that kind have come since the start. */
  pduCount(commandId: number): number;
  /** The status of each answer to a receipt or other deliver_sm, in order. */
  deliveryAnswers(): { sequence: number; status: number }[];
  /** Sends octets as they are on the connection that bound last. */
  sendRaw(octets: Buffer): void;
  /** Sends what `make` makes with the next sequence number. */
  send(make: (sequence: number) => Buffer): number;
  openConnections(): number;
  connectionCount(): number;
  /** The connections stay open and nothing is read from them. */
  pauseReading(): void;
  resumeReading(): void;
  dropConnections(): void;
  unbindAll(): void;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function startSmsc(options: SmscOptions = {}): Promise<Smsc> {
  const smsc = new ScriptedSmsc(options);
  await smsc.listen();
  return smsc;
}

/** Counts of one kind are kept for ever; PDUs and submits only so many. */
const REMEMBERED = 100_000;

/** How many segments it can tell apart by how often they came. */
const SEEN = 10_000;

/** Receipts that wait for a bind that can receive. */
const OWED = 100_000;

const REPEAT_MS = 1000;

type Waiting = { isMet: () => boolean; resolve: () => void };

class ScriptedSmsc implements Smsc {
  readonly #options: SmscOptions;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #received: ReceivedSubmit[] = [];
  readonly #deliveryAnswers: { sequence: number; status: number }[] = [];
  readonly #pduCounts = new Map<number, number>();
  readonly #lastPdus = new Map<number, PduSeen>();
  readonly #seen = new Map<string, number>();
  readonly #owed: OwedReceipt[] = [];
  /** Receipts that were sent and not answered, by connection and sequence number. */
  readonly #unanswered = new Map<Connection, Map<number, OwedReceipt>>();
  readonly #timers = new Set<() => void>();
  readonly #firstId: bigint;
  #waiting: Waiting[] = [];
  #answer: NonNullable<SmscOptions["answer"]>;
  #bind: NonNullable<SmscOptions["bind"]>;
  #script: ReceiptScript;
  #submits = 0;
  #ids = 0;
  #connectionCount = 0;
  #turn = 0;
  host: string;
  port = 0;

  constructor(options: SmscOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#answer = options.answer ?? "by_recipient";
    this.#bind = options.bind ?? status.ok;
    this.#script = { ...defaultReceipts, ...options.receipts };
    this.host = options.host ?? "127.0.0.1";
    // Ids of two runs differ, as those of a real SMSC should.
    this.#firstId = BigInt(this.#clock.now().getTime()) * 1000n;
    this.#server = options.tls === undefined ? createTcpServer() : createTlsServer(options.tls);
    const event = options.tls === undefined ? "connection" : "secureConnection";
    this.#server.on(event, (socket: import("node:net").Socket) => this.#accept(socket));
    // A client that breaks off its handshake is its own problem.
    this.#server.on("tlsClientError", () => {});
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port ?? 0, this.host, () => {
        const address = this.#server.address();
        if (typeof address === "object" && address !== null) this.port = address.port;
        resolve();
      });
    });
  }

  answer(answer: NonNullable<SmscOptions["answer"]>): void {
    this.#answer = answer;
  }

  answerBinds(bind: NonNullable<SmscOptions["bind"]>): void {
    this.#bind = bind;
  }

  sendReceipts(script: Partial<ReceiptScript>): void {
    this.#script = { ...this.#script, ...script };
  }

  received(): ReceivedSubmit[] {
    return this.#received;
  }

  submitCount(): number {
    return this.#submits;
  }

  async submitArrived(nth = 1): Promise<ReceivedSubmit> {
    await this.#until(() => this.#submits >= nth);
    const submit = this.#received[nth - 1];
    if (submit === undefined) throw new Error(`submit ${nth} is not remembered`);
    return submit;
  }

  bound(binds = 1): Promise<void> {
    return this.#until(() => [...this.#connections].filter(({ bound }) => bound).length >= binds);
  }

  async pduArrived(commandId: number, nth = 1): Promise<PduSeen> {
    await this.#until(() => this.pduCount(commandId) >= nth);
    return this.#lastPdus.get(commandId) as PduSeen;
  }

  pduCount(commandId: number): number {
    return this.#pduCounts.get(commandId) ?? 0;
  }

  deliveryAnswers(): { sequence: number; status: number }[] {
    return this.#deliveryAnswers;
  }

  sendRaw(octets: Buffer): void {
    this.#last().send(octets);
  }

  send(make: (sequence: number) => Buffer): number {
    const connection = this.#last();
    const sequence = connection.nextSequence();
    connection.send(make(sequence));
    return sequence;
  }

  openConnections(): number {
    return this.#connections.size;
  }

  connectionCount(): number {
    return this.#connectionCount;
  }

  pauseReading(): void {
    for (const connection of this.#connections) connection.pauseReading();
  }

  resumeReading(): void {
    for (const connection of this.#connections) connection.resumeReading();
  }

  dropConnections(): void {
    for (const connection of this.#connections) connection.drop();
  }

  unbindAll(): void {
    for (const connection of this.#connections) {
      connection.send(bare(command.unbind, 0, connection.nextSequence()));
    }
  }

  async stop(): Promise<void> {
    for (const cancel of this.#timers) cancel();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.dropConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #accept(socket: import("node:net").Socket): void {
    const connection = new Connection(++this.#connectionCount, socket, {
      onBind: (from, bind, commandId, sequence) => this.#onBind(from, bind, commandId, sequence),
      onSubmit: (from, message, sequence) => this.#onSubmit(from, message, sequence),
      onResponse: (from, pdu) => this.#onResponse(from, pdu),
      onPdu: (_from, pdu) => this.#onPdu(pdu),
      onClose: (from) => this.#onClose(from),
    });
    this.#connections.add(connection);
    this.#unanswered.set(connection, new Map());
  }

  #onPdu(pdu: PduSeen): void {
    this.#pduCounts.set(pdu.commandId, this.pduCount(pdu.commandId) + 1);
    this.#lastPdus.set(pdu.commandId, pdu);
    if (this.#waiting.length > 0) queueMicrotask(() => this.#notify());
  }

  #onClose(connection: Connection): void {
    this.#connections.delete(connection);
    // What was not answered is owed still: an SMSC sends it again, on whatever bind comes next.
    for (const owed of this.#unanswered.get(connection)?.values() ?? []) this.#owe(owed);
    this.#unanswered.delete(connection);
    this.#notify();
  }

  #onBind(connection: Connection, bind: Bind, commandId: number, sequence: number): void {
    const reply = this.#judgeBind(bind);
    if (reply === "never") return;
    const head = { commandId: responseTo(commandId), status: reply, sequence };
    connection.send(encodeId(head, reply === status.ok ? "Posthorn" : ""));
    if (reply !== status.ok) return connection.end();
    connection.bound = {
      systemId: bind.systemId,
      canSubmit: commandId !== command.bindReceiver,
      canReceive: commandId !== command.bindTransmitter,
    };
    for (const owed of this.#owed.splice(0)) this.#sendReceipt(owed, connection);
    this.#notify();
  }

  #judgeBind(bind: Bind): BindReply {
    const { credentials } = this.#options;
    if (credentials !== undefined && bind.systemId !== credentials.systemId)
      return status.invalidSystemId;
    if (credentials !== undefined && bind.password !== credentials.password)
      return status.invalidPassword;
    return typeof this.#bind === "function" ? this.#bind(bind) : this.#bind;
  }

  #onSubmit(connection: Connection, message: ShortMessage<Buffer>, sequence: number): void {
    const submit = readSubmit(message, { connection: connection.number, sequence });
    this.#submits += 1;
    if (this.#received.length < (this.#options.remember ?? REMEMBERED)) this.#received.push(submit);
    const reply = typeof this.#answer === "function" ? this.#answer(submit) : this.#answer;
    this.#reply(connection, submit, reply);
    if (this.#waiting.length > 0) this.#notify();
  }

  #reply(connection: Connection, submit: ReceivedSubmit, reply: Reply): void {
    const { sequence } = submit;
    if (typeof reply === "object") return this.#replyAsScripted(connection, submit, reply);
    switch (reply) {
      case "accept":
        return this.#acceptSubmit(connection, submit, this.#script);
      case "accept_twice":
        this.#acceptSubmit(connection, submit, this.#script);
        return connection.send(submitResp(status.ok, sequence, this.#newId()));
      case "never":
        return;
      case "throttle":
        return connection.send(submitResp(status.throttled, sequence));
      case "queue_full":
        return connection.send(submitResp(status.queueFull, sequence));
      case "refuse":
        return connection.send(submitResp(REFUSED_STATUS, sequence));
      case "drop":
        return connection.drop();
      case "unbind":
        return connection.send(bare(command.unbind, 0, connection.nextSequence()));
      case "by_recipient":
        return this.#replyByRecipient(connection, submit);
    }
  }

  #replyAsScripted(
    connection: Connection,
    submit: ReceivedSubmit,
    reply: Exclude<Reply, string>,
  ): void {
    const { sequence } = submit;
    if ("afterMs" in reply) {
      return this.#later(reply.afterMs, () => this.#reply(connection, submit, reply.reply));
    }
    if ("nack" in reply) return connection.send(bare(command.genericNack, reply.nack, sequence));
    if ("raw" in reply) {
      return connection.send(reply.raw(submitResp(status.ok, sequence, this.#newId())));
    }
    const { withBody = true } = reply;
    const bodiless = bare(command.submitSmResp, reply.status, sequence);
    connection.send(withBody ? submitResp(reply.status, sequence) : bodiless);
  }

  #replyByRecipient(connection: Connection, submit: ReceivedSubmit): void {
    if (!isSpecial(submit.recipient)) return this.#acceptSubmit(connection, submit, this.#script);
    const attempt = this.#timesSeen(submit);
    const { answer, receipt } = behaviourOf(submit.recipient, { attempt, resent: attempt > 1 });
    switch (answer) {
      case "accept": {
        const { delayMs } = this.#script;
        const script: ReceiptScript =
          receipt === null
            ? { ...this.#script, when: "never" }
            : {
                ...this.#script,
                ...receipt,
                states: [receipt.state],
                delayMs: receipt.delayMs || delayMs,
              };
        return this.#acceptSubmit(connection, submit, script);
      }
      case "refuse":
        return connection.send(submitResp(REFUSED_STATUS, submit.sequence));
      case "throttle":
        return connection.send(submitResp(status.throttled, submit.sequence));
      case "silence":
        // Over a network nobody can say "in doubt": the connection goes, and with it the answer.
        return this.#later(SILENCE_MS, () => connection.drop());
    }
  }

  /** How often this very segment has come, this time included. */
  #timesSeen({ recipient, octets }: ReceivedSubmit): number {
    const key = `${recipient} ${octets.toString("latin1")}`;
    const times = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.delete(key);
    this.#seen.set(key, times);
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > SEEN && oldest !== undefined) this.#seen.delete(oldest);
    return times;
  }

  #acceptSubmit(connection: Connection, submit: ReceivedSubmit, script: ReceiptScript): void {
    const id = this.#newId();
    const answer = () => connection.send(submitResp(status.ok, submit.sequence, id));
    const report = () => this.#report(connection, submit, id, script);
    const isWanted = script.when !== "never" && (submit.registeredDelivery & 3) !== 0;
    if (!isWanted) return answer();
    switch (script.when) {
      case "before":
        report();
        return this.#later(script.delayMs, answer);
      case "with_answer":
        answer();
        return report();
      case "after":
      case "never":
        answer();
        return this.#later(script.delayMs, report);
    }
  }

  #report(connection: Connection, submit: ReceivedSubmit, id: string, script: ReceiptScript): void {
    const { recipient, source, text } = submit;
    for (const state of script.states) {
      const owed = {
        id,
        recipient,
        sender: source.address,
        state,
        err: script.err,
        at: this.#clock.now(),
        text,
      };
      this.#sendReceipt(owed, this.#receiverFor(connection, script));
    }
  }

  /** The connection that submitted, if it can receive; else any that can. */
  #receiverFor(connection: Connection, { onAnyConnection }: ReceiptScript): Connection | undefined {
    const isOwn = connection.bound?.canReceive === true && !connection.isClosed;
    if (isOwn && !onAnyConnection) return connection;
    const receivers = [...this.#connections].filter(({ bound }) => bound?.canReceive === true);
    this.#turn += 1;
    return receivers[this.#turn % Math.max(1, receivers.length)];
  }

  #sendReceipt(owed: OwedReceipt, connection: Connection | undefined): void {
    if (connection?.bound?.canReceive !== true || connection.isClosed) return this.#owe(owed);
    const sequence = connection.nextSequence();
    this.#unanswered.get(connection)?.set(sequence, owed);
    connection.send(receiptPdu(owed, this.#script, sequence));
  }

  #owe(owed: OwedReceipt): void {
    if (this.#owed.length < OWED) this.#owed.push(owed);
  }

  #onResponse(connection: Connection, pdu: PduSeen): void {
    const isDelivery =
      pdu.commandId === command.deliverSmResp || pdu.commandId === command.dataSmResp;
    if (!isDelivery) return;
    const { sequence, status: code } = pdu;
    const { remember = REMEMBERED } = this.#options;
    if (this.#deliveryAnswers.length < remember)
      this.#deliveryAnswers.push({ sequence, status: code });
    const unanswered = this.#unanswered.get(connection);
    const owed = unanswered?.get(sequence);
    unanswered?.delete(sequence);
    if (owed !== undefined && code === status.temporaryAppError) {
      this.#later(this.#options.repeatMs ?? REPEAT_MS, () =>
        this.#sendReceipt(owed, this.#receiverFor(connection, this.#script)),
      );
    }
  }

  #newId(): string {
    this.#ids += 1;
    return this.#options.newId?.(this.#ids) ?? String(this.#firstId + BigInt(this.#ids));
  }

  #later(ms: number, run: () => void): void {
    if (ms === 0) return run();
    const cancel = this.#clock.timer(ms, () => {
      this.#timers.delete(cancel);
      run();
    });
    this.#timers.add(cancel);
  }

  #last(): Connection {
    const last = [...this.#connections].findLast(({ bound }) => bound !== null);
    if (last === undefined) throw new Error("nobody is bound");
    return last;
  }

  #until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }));
  }

  #notify(): void {
    const met = this.#waiting.filter(({ isMet }) => isMet());
    this.#waiting = this.#waiting.filter((waiting) => !met.includes(waiting));
    for (const { resolve } of met) resolve();
  }
}

function submitResp(code: number, sequence: number, id = ""): Buffer {
  return encodeId({ commandId: command.submitSmResp, status: code, sequence }, id);
}
