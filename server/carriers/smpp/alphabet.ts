import { encodeGsm7 } from "#contract/segments";

/** How the SMSC reads text sent with `gsm_data_coding`. */
export type Alphabet = "gsm" | "gsm_packed" | "latin1" | "ascii";

/** The length of the header of concatenated segments; packed septets start after it. */
export const UDH_OCTETS = 6;

/**
 * Encodes a text that was counted as GSM 03.38 in the alphabet the SMSC expects. Undefined if the
 * alphabet lacks one of its characters: nothing is ever substituted. All but packed septets use one
 * octet per character: the SMSC makes the septets, and the text was cut to fit them.
 */
export function encodeText(
  text: string,
  alphabet: Alphabet,
  headerOctets = 0,
): Uint8Array | undefined {
  switch (alphabet) {
    case "gsm":
      return encodeGsm7(text) ?? undefined;
    case "gsm_packed": {
      const septets = encodeGsm7(text);
      return septets === null ? undefined : packSeptets(septets, headerOctets);
    }
    case "latin1":
      return NOT_LATIN1.test(text) ? undefined : Buffer.from(text, "latin1");
    case "ascii":
      return NOT_ASCII.test(text) ? undefined : Buffer.from(text, "latin1");
  }
}

// oxlint-disable-next-line no-control-regex -- The control characters of latin1 are no text.
const NOT_LATIN1 = /[^\n\r\f\x20-\x7e\xa0-\xff]/;
const NOT_ASCII = /[^\n\r\f\x20-\x7e]/;

const CARRIAGE_RETURN = 0x0d;

/**
 * Packs eight septets into seven octets, the first in the lowest bits. After a header the septets
 * begin on the next septet boundary. Seven bits left over would read as "@", so they are filled
 * with a carriage return, which handsets do not show.
 */
export function packSeptets(septets: Uint8Array, headerOctets: number): Uint8Array {
  const fillBits = (7 - ((headerOctets * 8) % 7)) % 7;
  const bits = fillBits + septets.length * 7;
  const spareBits = (8 - (bits % 8)) % 8;
  const packed = new Uint8Array(Math.ceil(bits / 8));
  septets.forEach((septet, index) => putSeptet(packed, fillBits + index * 7, septet));
  if (spareBits === 7) putSeptet(packed, bits, CARRIAGE_RETURN);
  return packed;
}

function putSeptet(packed: Uint8Array, bit: number, septet: number): void {
  const [at, shift] = [bit >> 3, bit & 7];
  packed[at] = (packed[at] ?? 0) | (septet << shift);
  if (shift > 1) packed[at + 1] = (packed[at + 1] ?? 0) | (septet >> (8 - shift));
}
