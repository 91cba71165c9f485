import type { Socket } from "node:net";

import type { Clock } from "#platform";

import { framer } from "./codec/frame.ts";
import { Outbox } from "./outbox.ts";

type Deps = {
  maxPdu: number;
  /** Called before received data is read. */
  onRead?: () => void;
  /** The PDU is only lent: copy it to keep it. */
  onPdu: (frame: Buffer) => void;
  /** Called after an impossible length: the next PDU's start is unknown. */
  onUnreadable: () => void;
  /** Called before the outbox's contents are handed to the socket. */
  beforeWrite?: () => void;
};

/** How long the last bytes of a connection may take to leave. */
const LINGER_MS = 1000;

/**
 * The most to read in one turn of the event loop. Node reads thirty times as much from a peer that
 * floods us, and so keeps all other carriers and requests waiting.
 */
const TURN_OCTETS = 64 * 1024;

/** Reads and writes whole PDUs on one socket, without knowing what they mean. */
export class PduSocket {
  readonly outbox: Outbox;
  readonly #socket: Socket;
  #isPaused = false;
  #turnOctets = 0;

  constructor(socket: Socket, deps: Deps) {
    const { maxPdu, onRead, onPdu, onUnreadable, beforeWrite = () => {} } = deps;
    this.#socket = socket;
    this.outbox = new Outbox(socket, beforeWrite);
    const push = framer(maxPdu, onPdu);
    socket.on("data", (chunk: Buffer) => {
      onRead?.();
      if (!push(chunk)) return onUnreadable();
      this.#countTurn(chunk.length);
      // If the peer does not read its answers, it gets no more of them.
      if (this.outbox.isStuck || this.#isTurnOver) socket.pause();
    });
    socket.on("drain", () => this.#readOn());
  }

  get #isTurnOver(): boolean {
    return this.#turnOctets >= TURN_OCTETS;
  }

  #countTurn(octets: number): void {
    if (this.#turnOctets === 0) {
      setImmediate(() => {
        this.#turnOctets = 0;
        this.#readOn();
      });
    }
    this.#turnOctets += octets;
  }

  #readOn(): void {
    const mayRead = !this.#isPaused && !this.outbox.isStuck && !this.#isTurnOver;
    if (mayRead && this.#socket.isPaused()) this.#socket.resume();
  }

  /** Reads nothing more until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#readOn();
  }

  /** What was put in may still leave, but a peer that does not read cannot delay the close. */
  close(clock: Clock): void {
    this.outbox.flush();
    if (this.#socket.destroyed) return;
    const cancel = clock.timer(LINGER_MS, () => this.#socket.destroy());
    this.#socket.once("close", cancel);
    if (this.#socket.connecting) this.#socket.destroy();
    else this.#socket.destroySoon();
  }
}
