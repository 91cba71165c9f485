import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { type Clock, systemClock } from "#platform";

import { type Bind, encodeId, type ShortMessage } from "./smpp/codec/body.ts";
import { bare, command, responseTo } from "./smpp/codec/header.ts";
import { status } from "./smpp/codec/status.ts";
import { SubmitAnswers } from "./smsc-answer.ts";
import { Connection, type PduSeen } from "./smsc-connection.ts";
import { isDeliveryAnswer, OwedReceipts } from "./smsc-owed-receipts.ts";
import { SmscRecord } from "./smsc-record.ts";
import {
  type BindReply,
  defaultReceipts,
  type ReceiptScript,
  type ReceivedSubmit,
  type SmscOptions,
} from "./smsc-script.ts";
import { readSubmit } from "./smsc-submit.ts";

export async function startSmsc(options: SmscOptions = {}): Promise<Smsc> {
  const smsc = new Smsc(options);
  await smsc.listen();
  return smsc;
}

const REPEAT_MS = 1000;

/** An SMSC that follows its script and remembers what it was sent. */
export class Smsc {
  readonly #options: SmscOptions;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #record: SmscRecord;
  readonly #receipts: OwedReceipts;
  readonly #answers: SubmitAnswers;
  readonly #timers = new Set<() => void>();
  readonly #firstId: bigint;
  #answer: NonNullable<SmscOptions["answer"]>;
  #bind: NonNullable<SmscOptions["bind"]>;
  #script: ReceiptScript;
  #ids = 0;
  #connectionCount = 0;
  readonly host: string;
  port = 0;

  constructor(options: SmscOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#answer = options.answer ?? "by_recipient";
    this.#bind = options.bind ?? status.ok;
    this.#script = { ...defaultReceipts, ...options.receipts };
    this.#record = new SmscRecord(options.remember);
    this.host = options.host ?? "127.0.0.1";
    // The ids of two runs differ, like those of a real SMSC.
    this.#firstId = BigInt(this.#clock.now().getTime()) * 1000n;
    const script = () => this.#script;
    const later = (ms: number, run: () => void) => this.#later(ms, run);
    this.#receipts = new OwedReceipts({
      connections: this.#connections,
      script,
      later,
      repeatMs: options.repeatMs ?? REPEAT_MS,
    });
    this.#answers = new SubmitAnswers({
      script,
      later,
      newId: () => this.#newId(),
      report: (connection, submit, id, by) => this.#report(connection, submit, id, by),
    });
    this.#server = this.#createServer();
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      // For a later error the promise is already settled, and only its connection is lost.
      this.#server.on("error", reject);
      this.#server.listen(this.#options.port ?? 0, this.host, () => {
        const address = this.#server.address();
        if (typeof address === "object" && address !== null) this.port = address.port;
        resolve();
      });
    });
  }

  /** Takes effect from now on, like the next two. */
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
    return this.#record.received;
  }

  submitCount(): number {
    return this.#record.submits;
  }

  /** Resolves with the nth submit since the start, at once if it has come. */
  async submitArrived(nth = 1): Promise<ReceivedSubmit> {
    await this.#record.until(() => this.#record.submits >= nth);
    const submit = this.#record.received[nth - 1];
    if (submit === undefined) throw new Error(`submit ${nth} is not remembered`);
    return submit;
  }

  /** Resolves when this many binds are up at once. */
  bound(binds = 1): Promise<void> {
    const isBound = ({ bound }: Connection) => bound !== null;
    return this.#record.until(() => [...this.#connections].filter(isBound).length >= binds);
  }

  /** Resolves with the last PDU of that kind once this many have come since the start. */
  async pduArrived(commandId: number, nth = 1): Promise<PduSeen> {
    await this.#record.until(() => this.pduCount(commandId) >= nth);
    return this.#record.lastPdu(commandId) as PduSeen;
  }

  /** How many PDUs of that kind have come since the start. */
  pduCount(commandId: number): number {
    return this.#record.pduCount(commandId);
  }

  /** The status of each answer to a receipt or other deliver_sm, in order. */
  deliveryAnswers(): { sequence: number; status: number }[] {
    return this.#record.deliveryAnswers;
  }

  /** Sends these bytes as they are on the connection that bound last. */
  sendRaw(octets: Buffer): void {
    this.#last().send(octets);
  }

  openConnections(): number {
    return this.#connections.size;
  }

  connectionCount(): number {
    return this.#connectionCount;
  }

  /** Keeps the connections open but reads nothing from them. */
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

  #createServer(): Server {
    const { tls } = this.#options;
    const server = tls === undefined ? createTcpServer() : createTlsServer(tls);
    const event = tls === undefined ? "connection" : "secureConnection";
    server.on(event, (socket: Socket) => this.#onConnection(socket));
    // If a client aborts its handshake, that is its own problem.
    server.on("tlsClientError", () => {});
    return server;
  }

  #onConnection(socket: Socket): void {
    const connection = new Connection(++this.#connectionCount, socket, {
      onBind: (from, bind, commandId, sequence) => this.#onBind(from, bind, commandId, sequence),
      onSubmit: (from, message, sequence) => this.#onSubmit(from, message, sequence),
      onResponse: (from, pdu) => this.#onResponse(from, pdu),
      onPdu: (pdu) => this.#record.pdu(pdu),
      onClose: (from) => this.#onClose(from),
    });
    this.#connections.add(connection);
  }

  #onClose(connection: Connection): void {
    this.#connections.delete(connection);
    this.#receipts.onClose(connection);
    this.#record.announce();
  }

  #onBind(connection: Connection, bind: Bind, commandId: number, sequence: number): void {
    const reply = this.#judgeBind(bind);
    if (reply === "never") return;
    const head = { commandId: responseTo(commandId), status: reply, sequence };
    connection.send(encodeId(head, reply === status.ok ? "Posthorn" : ""));
    if (reply !== status.ok) return connection.end();
    connection.bound = {
      canSubmit: commandId !== command.bindReceiver,
      canReceive: commandId !== command.bindTransmitter,
    };
    this.#receipts.onBound(connection);
    this.#record.announce();
  }

  #judgeBind(bind: Bind): BindReply {
    const { systemId, password } = this.#options.credentials ?? bind;
    if (bind.systemId !== systemId) return status.invalidSystemId;
    if (bind.password !== password) return status.invalidPassword;
    return typeof this.#bind === "function" ? this.#bind(bind) : this.#bind;
  }

  #onSubmit(connection: Connection, message: ShortMessage<Buffer>, sequence: number): void {
    const submit = readSubmit(message, { connection: connection.number, sequence });
    this.#record.submit(submit);
    const reply = typeof this.#answer === "function" ? this.#answer(submit) : this.#answer;
    this.#answers.reply(connection, submit, reply);
  }

  #report(connection: Connection, submit: ReceivedSubmit, id: string, script: ReceiptScript): void {
    const { recipient, source, text } = submit;
    const { err } = script;
    for (const state of script.states) {
      const at = this.#clock.now();
      this.#receipts.send(
        { id, recipient, sender: source.address, state, err, at, text },
        connection,
      );
    }
  }

  #onResponse(connection: Connection, pdu: PduSeen): void {
    if (!isDeliveryAnswer(pdu)) return;
    this.#record.deliveryAnswer(pdu);
    this.#receipts.onAnswer(connection, pdu);
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
}
