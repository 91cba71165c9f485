import type { OutgoingSegment } from "#carriers";
import { encodeGsm7, encodeUcs2 } from "#contract/segments";

import { encodeText, UDH_OCTETS } from "./alphabet.ts";
import { type Address, HAS_UDH, type ShortMessage } from "./codec/body.ts";
import { encodeTlvs, tag } from "./codec/tlv.ts";
import type { SmppSettings } from "./settings.ts";
import { validityPeriod } from "./validity.ts";

const NOTHING = Buffer.alloc(0);

/**
 * Makes the `submit_sm` of a segment. Undefined if the carrier's alphabet cannot hold its text or,
 * for the first segment, the whole message: then no part leaves, and another carrier may take it.
 * The function that counted and priced the text has already cut it: nothing is cut here.
 */
export function submission(
  segment: OutgoingSegment,
  settings: SmppSettings,
  now: () => Date,
): ShortMessage | undefined {
  // Even if the setting is payload: a message that began in segments continues in segments.
  const isOneOfMany = segment.segments > 1;
  const hasUdh = isOneOfMany && settings.longMessages !== "sar";
  const text = textOctets(segment, settings, hasUdh ? UDH_OCTETS : 0);
  if (text === undefined) return undefined;

  const octets = hasUdh ? withUdh(segment, text) : text;
  const isPayload = isTooLong(octets, segment, settings);
  return {
    serviceType: settings.serviceType,
    source: sourceAddress(segment.sender ?? settings.defaultSender, settings),
    destination: { ...(settings.destTonNpi ?? INTERNATIONAL), address: segment.recipient },
    esmClass: settings.esmMode | (hasUdh ? HAS_UDH : 0),
    protocolId: settings.protocolId,
    priority: settings.priority,
    scheduleDeliveryTime: "",
    validityPeriod: validityPeriod(settings.validity, segment.validitySeconds, now),
    registeredDelivery: settings.registeredDelivery,
    replaceIfPresent: 0,
    dataCoding: segment.encoding === "ucs2" ? settings.ucs2DataCoding : settings.gsmDataCoding,
    defaultMessageId: 0,
    shortMessage: isPayload ? NOTHING : octets,
    tlvs: tlvs(segment, isPayload ? octets : null, isOneOfMany && !hasUdh),
  };
}

function textOctets(
  { text, wholeText, encoding, segment, segments }: OutgoingSegment,
  { alphabet }: SmppSettings,
  headerOctets: number,
): Uint8Array | undefined {
  if (encoding === "ucs2") return encodeUcs2(text);
  const isFirstOfMany = segment === 1 && segments > 1;
  if (isFirstOfMany && encodeText(wholeText, alphabet) === undefined) return undefined;
  return encodeText(text, alphabet, headerOctets);
}

/**
 * The longest single segment: 160 septets, or 140 octets of UCS-2 or packed text. Anything longer
 * is a whole message and goes into `message_payload`.
 */
function isTooLong(
  octets: Uint8Array,
  { encoding, text }: OutgoingSegment,
  { alphabet }: SmppSettings,
): boolean {
  if (encoding === "ucs2" || alphabet === "gsm_packed") return octets.length > 140;
  // In the other alphabets a character of the extension table is one octet, though two septets.
  const septets = alphabet === "gsm" ? octets : encodeGsm7(text);
  return (septets ?? octets).length > 160;
}

/** Element 0 of 3 octets: reference, total, number. A 16-bit reference would change the price. */
function withUdh(segment: OutgoingSegment, text: Uint8Array): Uint8Array {
  const octets = new Uint8Array(UDH_OCTETS + text.length);
  octets[0] = 5;
  octets[2] = 3;
  octets[3] = segment.concatReference;
  octets[4] = segment.segments;
  octets[5] = segment.segment;
  octets.set(text, UDH_OCTETS);
  return octets;
}

function tlvs(segment: OutgoingSegment, payload: Uint8Array | null, isSar: boolean): Uint8Array {
  if (payload !== null) return encodeTlvs([{ tag: tag.messagePayload, value: payload }]);
  if (!isSar) return NOTHING;
  return encodeTlvs([
    { tag: tag.sarMsgRefNum, value: Uint8Array.of(0, segment.concatReference) },
    { tag: tag.sarTotalSegments, value: Uint8Array.of(segment.segments) },
    { tag: tag.sarSegmentSeqnum, value: Uint8Array.of(segment.segment) },
  ]);
}

const INTERNATIONAL = { ton: 1, npi: 1 };
const SHORT_CODE = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const DIGITS = /^[0-9]+$/;

function sourceAddress(sender: string | null, settings: SmppSettings): Address {
  // The carrier fills it in.
  if (sender === null) return { ton: 0, npi: 0, address: "" };
  return { ...(settings.sourceTonNpi ?? formOf(sender)), address: sender };
}

/** By form, not by a list of letters, which would miss "My-Shop". */
function formOf(sender: string): { ton: number; npi: number } {
  if (!DIGITS.test(sender)) return ALPHANUMERIC;
  return sender.length > 8 ? INTERNATIONAL : SHORT_CODE;
}
