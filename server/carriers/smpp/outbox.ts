import type { Socket } from "node:net";

/** Room for some hundred submits, so that a slab is made rarely and a write is large. */
const SLAB_OCTETS = 64 * 1024;

/** With this much unsent the peer does not read, and reading from it would only add to it. */
const TOO_MUCH_UNSENT = 1024 * 1024;

/**
 * What leaves on one connection. PDUs are written one behind the other into a slab, and everything
 * that one turn of the event loop brings leaves in one write. A slab is never used again, because
 * the socket may hold on to it: the garbage collector knows when it is done.
 */
export class Outbox {
  readonly #socket: Socket;
  readonly #beforeWrite: () => void;
  #slab = Buffer.allocUnsafeSlow(SLAB_OCTETS);
  #start = 0;
  #end = 0;
  #isScheduled = false;
  /** Whether the socket asked for a pause; it announces the end of it by `drain`. */
  isBlocked = false;

  /** `beforeWrite` is called when what was put in is about to be handed to the socket. */
  constructor(socket: Socket, beforeWrite: () => void) {
    this.#socket = socket;
    this.#beforeWrite = beforeWrite;
    socket.on("drain", () => {
      this.isBlocked = false;
    });
  }

  /** A slab with room for so many octets at `position`; `advance` tells where they end. */
  reserve(octets: number): Buffer {
    if (this.#slab.length - this.#end < octets) this.#newSlab(octets);
    return this.#slab;
  }

  get position(): number {
    return this.#end;
  }

  advance(end: number): void {
    this.#end = end;
    this.#schedule();
  }

  put(pdu: Buffer): void {
    const slab = this.reserve(pdu.length);
    this.advance(this.#end + pdu.copy(slab, this.#end));
  }

  /** Hands everything to the socket now. */
  flush(): void {
    if (this.#end === this.#start || !this.#socket.writable) return;
    const octets = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#beforeWrite();
    if (!this.#socket.write(octets)) this.isBlocked = true;
  }

  get isStuck(): boolean {
    return this.#socket.writableLength > TOO_MUCH_UNSENT;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the poll phase: what all reads of this turn call for leaves together.
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #newSlab(octets: number): void {
    this.flush();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_OCTETS, octets));
    this.#start = 0;
    this.#end = 0;
  }
}
