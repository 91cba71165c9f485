import type { Socket } from "node:net";

import type { Clock } from "#platform";

import { framer } from "./codec/frame.ts";
import { Outbox } from "./outbox.ts";

type Deps = {
  maxPdu: number;
  /** Something has come, and is about to be read. */
  onRead?: () => void;
  /** The PDU is only lent. */
  onPdu: (frame: Buffer) => void;
  /** After an impossible length nobody knows where the next PDU begins. */
  onUnreadable: () => void;
  /** What was put into the outbox is about to be handed to the socket. */
  beforeWrite?: () => void;
};

/** How long the last octets of a connection may take to leave. */
const LINGER_MS = 1000;

/** Whole PDUs in and out of one socket, and nothing of what they mean. */
export class PduSocket {
  readonly outbox: Outbox;
  readonly #socket: Socket;
  #isPaused = false;

  constructor(socket: Socket, deps: Deps) {
    const { maxPdu, onRead, onPdu, onUnreadable, beforeWrite = () => {} } = deps;
    this.#socket = socket;
    this.outbox = new Outbox(socket, beforeWrite);
    const push = framer(maxPdu, onPdu);
    socket.on("data", (chunk: Buffer) => {
      onRead?.();
      if (!push(chunk)) return onUnreadable();
      // A peer that does not read its answers gets no more of them.
      if (this.outbox.isStuck) socket.pause();
    });
    socket.on("drain", () => {
      if (!this.#isPaused) socket.resume();
    });
  }

  /** Reads nothing more, until it is told to. */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** What was put in may still leave, but a peer that does not take it holds up nothing. */
  close(clock: Clock): void {
    this.outbox.flush();
    if (this.#socket.destroyed) return;
    const cancel = clock.timer(LINGER_MS, () => this.#socket.destroy());
    this.#socket.once("close", cancel);
    if (this.#socket.connecting) this.#socket.destroy();
    else this.#socket.destroySoon();
  }
}
