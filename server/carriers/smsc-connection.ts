import type { Socket } from "node:net";

import {
  type Bind,
  encodeId,
  readBind,
  readShortMessage,
  type ShortMessage,
} from "./smpp/codec/body.ts";
import {
  bare,
  command,
  isResponse,
  readCommandId,
  readSequence,
  readStatus,
  responseTo,
} from "./smpp/codec/header.ts";
import { status } from "./smpp/codec/status.ts";
import { PduSocket } from "./smpp/pdu-socket.ts";

export type ConnectionEvents = {
  onBind(connection: Connection, bind: Bind, commandId: number, sequence: number): void;
  onSubmit(connection: Connection, message: ShortMessage<Buffer>, sequence: number): void;
  /** The client's answer to one of our own requests. */
  onResponse(connection: Connection, pdu: PduSeen): void;
  /** Every PDU, before it is handled. */
  onPdu(pdu: PduSeen): void;
  onClose(connection: Connection): void;
};

export type PduSeen = { commandId: number; status: number; sequence: number };

/** The longest PDU an ESME may send: a payload of 64 KiB and its fields. */
const MAX_PDU = 72 * 1024;

/** The SMSC's end of one connection: reads requests and answers those that need no decision. */
export class Connection {
  readonly number: number;
  readonly #socket: Socket;
  readonly #pdus: PduSocket;
  readonly #events: ConnectionEvents;
  #sequence = 0;
  /** Null until bound. */
  bound: { canSubmit: boolean; canReceive: boolean } | null = null;
  isClosed = false;

  constructor(number: number, socket: Socket, events: ConnectionEvents) {
    this.number = number;
    this.#socket = socket;
    this.#events = events;
    this.#pdus = new PduSocket(socket, {
      maxPdu: MAX_PDU,
      onPdu: (frame) => this.#read(frame),
      onUnreadable: () => {
        this.send(bare(command.genericNack, status.invalidCommandLength, 0));
        this.end();
      },
    });
    socket.setNoDelay(true);
    // The reason does not matter: `close` follows.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.isClosed = true;
      events.onClose(this);
    });
  }

  nextSequence(): number {
    this.#sequence = this.#sequence >= 0x7fffffff ? 1 : this.#sequence + 1;
    return this.#sequence;
  }

  send(pdu: Buffer): void {
    if (!this.isClosed) this.#pdus.outbox.put(pdu);
  }

  pauseReading(): void {
    this.#pdus.pause();
  }

  resumeReading(): void {
    this.#pdus.resume();
  }

  /** Closes after what was sent has left. */
  end(): void {
    this.#pdus.outbox.flush();
    this.#socket.destroySoon();
  }

  drop(): void {
    // If reset while it ends, as after a hang-up, it would never close and keep the process alive.
    if (this.#socket.writableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  #read(frame: Buffer): void {
    if (this.isClosed) return;
    const pdu = {
      commandId: readCommandId(frame),
      status: readStatus(frame),
      sequence: readSequence(frame),
    };
    this.#events.onPdu(pdu);
    if (isResponse(pdu.commandId)) return this.#events.onResponse(this, pdu);
    this.#readRequest(frame, pdu);
  }

  #readRequest(frame: Buffer, { commandId, sequence }: PduSeen): void {
    switch (commandId) {
      case command.submitSm:
        return this.#onSubmit(readShortMessage(frame), sequence);
      case command.bindReceiver:
      case command.bindTransmitter:
      case command.bindTransceiver:
        return this.#onBind(readBind(frame), commandId, sequence);
      case command.enquireLink:
        return this.send(bare(command.enquireLinkResp, status.ok, sequence));
      case command.unbind:
        this.send(bare(command.unbindResp, status.ok, sequence));
        return this.end();
      default:
        this.send(bare(command.genericNack, status.invalidCommandId, sequence));
    }
  }

  #onSubmit(message: ShortMessage<Buffer> | undefined, sequence: number): void {
    const refuse = (code: number) =>
      this.send(encodeId({ commandId: command.submitSmResp, status: code, sequence }, ""));
    if (message === undefined) return refuse(status.invalidMessageLength);
    if (this.bound?.canSubmit !== true) return refuse(status.invalidBindStatus);
    this.#events.onSubmit(this, message, sequence);
  }

  #onBind(bind: Bind | undefined, commandId: number, sequence: number): void {
    if (bind !== undefined) return this.#events.onBind(this, bind, commandId, sequence);
    const head = { commandId: responseTo(commandId), status: status.bindFailed, sequence };
    this.send(encodeId(head, ""));
  }
}
