import type { Socket } from "node:net";

/** Room for some hundred submits: slabs are rarely allocated, and writes are large. */
const SLAB_OCTETS = 64 * 1024;

/** With this much unsent, the peer is not reading, and reading from it would only add more. */
const TOO_MUCH_UNSENT = 1024 * 1024;

/**
 * What leaves on one connection. PDUs are written one after another into a slab, and everything
 * from one turn of the event loop leaves in one write. A slab is never reused, because the socket
 * may still hold it: the garbage collector knows when it is done.
 */
export class Outbox {
  readonly #socket: Socket;
  readonly #beforeWrite: () => void;
  #slab = Buffer.allocUnsafeSlow(SLAB_OCTETS);
  #start = 0;
  #end = 0;
  #isScheduled = false;
  /** Whether the socket asked for a pause, which ends with its `drain` event. */
  isBlocked = false;

  /** `beforeWrite` is called just before the contents are handed to the socket. */
  constructor(socket: Socket, beforeWrite: () => void) {
    this.#socket = socket;
    this.#beforeWrite = beforeWrite;
    socket.on("drain", () => {
      this.isBlocked = false;
    });
  }

  /** A slab with room for this many bytes at `position`; `advance` tells where they end. */
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
    // After the poll phase: everything that the reads of this turn caused leaves together.
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
