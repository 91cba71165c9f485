import { encodeGsm7 } from "#contract/segments";

import { HAS_UDH, type ShortMessage } from "./smpp/codec/body.ts";
import { findTlv, findTlvInteger, tag } from "./smpp/codec/tlv.ts";
import type { ReceivedSubmit } from "./smsc-script.ts";

/** Reads a submit_sm as an SMSC does. */
export function readSubmit(
  message: ShortMessage<Buffer>,
  { connection, sequence }: { connection: number; sequence: number },
): ReceivedSubmit {
  const payload = findTlv(message.tlvs, tag.messagePayload);
  const octets = Buffer.from(payload ?? message.shortMessage);
  const hasUdh = (message.esmClass & HAS_UDH) !== 0;
  const header = hasUdh ? octets.subarray(0, 1 + (octets[0] ?? 0)) : null;
  return {
    connection,
    sequence,
    source: message.source,
    recipient: message.destination.address,
    text: decode(header === null ? octets : octets.subarray(header.length), message.dataCoding),
    octets,
    esmClass: message.esmClass,
    dataCoding: message.dataCoding,
    registeredDelivery: message.registeredDelivery,
    validityPeriod: message.validityPeriod,
    concatenation: header === null ? sarOf(message.tlvs) : udhOf(header),
  };
}

function udhOf(header: Buffer): ReceivedSubmit["concatenation"] {
  const [, element, , reference = 0, total = 0, number = 0] = header;
  return element === 0 ? { reference, total, number } : null;
}

function sarOf(tlvs: Buffer): ReceivedSubmit["concatenation"] {
  const reference = findTlvInteger(tlvs, tag.sarMsgRefNum);
  const total = findTlvInteger(tlvs, tag.sarTotalSegments);
  const number = findTlvInteger(tlvs, tag.sarSegmentSeqnum);
  if (reference === undefined || total === undefined || number === undefined) return null;
  return { reference, total, number };
}

const UCS2 = 8;
const LATIN1 = 3;
const ESCAPE = 0x1b;

function decode(octets: Buffer, dataCoding: number): string {
  if (dataCoding === LATIN1) return octets.toString("latin1");
  if (dataCoding !== UCS2) return decodeGsm7(octets);
  return Buffer.from(octets.subarray(0, octets.length & ~1))
    .swap16()
    .toString("utf16le");
}

/** The encoder's table in reverse, built from the encoder so the two cannot disagree. */
const characters = new Map<number, string>();

function decodeGsm7(octets: Buffer): string {
  if (characters.size === 0) fillCharacters();
  let text = "";
  for (let at = 0; at < octets.length; at += 1) {
    const isPair = octets[at] === ESCAPE;
    if (isPair) at += 1;
    text += characters.get((isPair ? ESCAPE << 8 : 0) | (octets[at] ?? 0)) ?? "?";
  }
  return text;
}

/** The euro sign, U+20AC, is the last character with a septet. */
const LAST_CHARACTER = 0x20ac;

function fillCharacters(): void {
  for (let unit = 0; unit <= LAST_CHARACTER; unit += 1) {
    const character = String.fromCharCode(unit);
    const [first, second] = encodeGsm7(character) ?? [];
    if (first !== undefined)
      characters.set(second === undefined ? first : (first << 8) | second, character);
  }
}
