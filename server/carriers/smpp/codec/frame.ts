import { HEADER_OCTETS } from "./header.ts";

/**
 * Takes the data of one read and emits every PDU that it completes. Returns false if a
 * `command_length` is impossible: the stream cannot be read any further.
 */
export type Framer = (chunk: Buffer) => boolean;

const LENGTH_OCTETS = 4;

/**
 * Turns chunks into whole PDUs; the only place that reads `command_length`. A PDU that spans reads
 * is copied once into a buffer of its announced length, so one-octet reads cost no more than large
 * ones, and at most `maxPdu` octets are held. A frame is only lent: it may be a view of the chunk
 * and must be copied to be kept.
 */
export function framer(maxPdu: number, onFrame: (frame: Buffer) => void): Framer {
  /** The first octets of a PDU whose length is not known yet. */
  const lengthOctets = Buffer.alloc(LENGTH_OCTETS);
  let lengthFilled = 0;
  /** A PDU that spans reads, in a buffer of its announced length. */
  let partial: Buffer | null = null;
  let filled = 0;
  let isBroken = false;

  return function push(chunk) {
    for (let at = 0; at < chunk.length;) {
      if (isBroken) return false;
      at = partial === null ? begin(chunk, at) : fill(chunk, at);
    }
    return !isBroken;
  };

  function begin(chunk: Buffer, at: number): number {
    if (lengthFilled > 0 || chunk.length - at < LENGTH_OCTETS) return gatherLength(chunk, at);
    const octets = chunk.readUInt32BE(at);
    const isWhole = octets <= chunk.length - at;
    if (!isWhole || octets < HEADER_OCTETS || octets > maxPdu) return expect(octets, at);
    onFrame(chunk.subarray(at, at + octets));
    return at + octets;
  }

  function gatherLength(chunk: Buffer, at: number): number {
    lengthOctets[lengthFilled++] = chunk[at] ?? 0;
    if (lengthFilled < LENGTH_OCTETS) return at + 1;
    lengthFilled = 0;
    expect(lengthOctets.readUInt32BE(0), at);
    if (partial !== null) filled = lengthOctets.copy(partial);
    return at + 1;
  }

  function expect(octets: number, at: number): number {
    isBroken = octets < HEADER_OCTETS || octets > maxPdu;
    if (!isBroken) partial = Buffer.allocUnsafe(octets);
    filled = 0;
    return at;
  }

  function fill(chunk: Buffer, at: number): number {
    if (partial === null) return at;
    const copied = chunk.copy(partial, filled, at);
    filled += copied;
    if (filled === partial.length) {
      const frame = partial;
      partial = null;
      onFrame(frame);
    }
    return at + copied;
  }
}
