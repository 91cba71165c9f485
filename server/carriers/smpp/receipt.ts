import type { Receipt } from "#carriers";
import type { DeliveryErrorCode } from "#contract";

import { HAS_UDH, type ShortMessage } from "./codec/body.ts";
import { messageStates } from "./codec/message-state.ts";
import { readLatin1, stringEnd } from "./codec/octets.ts";
import { findTlv, findTlvInteger, tag } from "./codec/tlv.ts";
import { type IdRule, LONGEST_ID, matchIds } from "./ids.ts";
import { bareState, readReceiptText, type ReceiptText } from "./receipt-text.ts";

type Effect = Receipt["effect"];

export type ReceiptSettings = {
  receiptId: IdRule;
  receiptStates: ReadonlyMap<string, Effect>;
  errorCodes: ReadonlyMap<string, DeliveryErrorCode>;
};

export type Delivered =
  | { kind: "receipt"; receipt: Omit<Receipt, "carrierId" | "raw">; isStateKnown: boolean }
  | { kind: "inbound_text" }
  /** Marked as a receipt, but it does not tell for what. */
  | { kind: "unreadable" };

/** The bits of `esm_class` that say what a deliver_sm is; the others say how to read its text. */
const TYPE_BITS = 0x3c;
const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;

/** Limits a state, code or number: people see them, and every webhook carries them. */
const LONGEST_WORD = 64;

/** Reads what a `deliver_sm` or `data_sm` is, and what it says if it is a receipt. */
export function readDelivered(message: ShortMessage<Buffer>, settings: ReceiptSettings): Delivered {
  const type = message.esmClass & TYPE_BITS;
  const isMarked = type === RECEIPT || type === INTERMEDIATE;
  const said = readSources(message, isMarked, settings.receiptStates);
  const isReceipt = isMarked || (said.id !== undefined && said.word !== undefined);
  if (!isReceipt) return { kind: "inbound_text" };
  if (said.id === undefined || said.id.length > LONGEST_ID) return { kind: "unreadable" };

  const word = shorten(said.word) ?? "UNKNOWN";
  const name = word.toUpperCase();
  const known = findEffect(name, said.stat?.toUpperCase() ?? name, settings.receiptStates);
  // An intermediate notification is never final, whatever state it reports.
  const effect = type === INTERMEDIATE ? "none" : (known ?? "none");
  const receipt = {
    carrierMessageIds: matchIds(said.id, settings.receiptId),
    state: word,
    effect,
    errorCode: errorCode(effect, name, said.err, settings.errorCodes),
    carrierCode: shorten(said.err) ?? null,
    recipient: shorten(message.source.address.replace(/^\+/, "")) || null,
  };
  return { kind: "receipt", receipt, isStateKnown: known !== undefined };
}

/** A cut may leave half a character, which the database cannot store. */
function shorten(word: string | undefined): string | undefined {
  return word?.slice(0, LONGEST_WORD).toWellFormed();
}

type Said = ReceiptText & {
  /** The state, in the carrier's own word. */
  word: string | undefined;
};

/** TLVs come first; what they leave open is read from the text, wherever that is. */
function readSources(
  message: ShortMessage<Buffer>,
  isMarked: boolean,
  carrierStates: ReadonlyMap<string, Effect>,
): Said {
  const { tlvs } = message;
  const text = readText(message, isMarked);
  const state = findTlvInteger(tlvs, tag.messageState);
  return {
    id: receiptedId(tlvs) ?? text.id,
    word: (isMeant(state, carrierStates) ? undefined : text.stat) ?? stateName(state),
    stat: text.stat,
    err: networkError(tlvs) ?? text.err,
  };
}

/**
 * Many carriers send a meaningless zero, and some a number that only they can explain: either
 * counts only if the text names no state.
 */
function isMeant(state: number | undefined, carrierStates: ReadonlyMap<string, Effect>): boolean {
  if (!state) return false;
  return messageStates[state] !== undefined || carrierStates.has(String(state));
}

/** A number that the protocol does not define is kept as a word. */
function stateName(state: number | undefined): string | undefined {
  return state === undefined ? undefined : (messageStates[state] ?? String(state));
}

function receiptedId(tlvs: Buffer): string | undefined {
  const value = findTlv(tlvs, tag.receiptedMessageId);
  if (value === undefined) return undefined;
  return readLatin1(value, 0, stringEnd(value, 0)).trim() || undefined;
}

/** One octet for the kind of network, two for its code; formatted like the `err` of receipts. */
function networkError(tlvs: Buffer): string | undefined {
  const value = findTlv(tlvs, tag.networkErrorCode);
  if (value?.length !== 3) return undefined;
  const code = value.readUInt16BE(1);
  return code === 0 ? undefined : String(code).padStart(3, "0");
}

function readText(message: ShortMessage<Buffer>, isMarked: boolean): ReceiptText {
  const { shortMessage, esmClass, tlvs } = message;
  const text = readUserData(shortMessage, esmClass, isMarked);
  if (text.id !== undefined && text.stat !== undefined) return text;
  const payload = findTlv(tlvs, tag.messagePayload, "cut");
  if (payload === undefined) return text;
  const more = readUserData(payload, esmClass, isMarked);
  return { id: text.id ?? more.id, stat: text.stat ?? more.stat, err: text.err ?? more.err };
}

/** Skips the user data header that `esm_class` announces, unless the rest is then no receipt. */
function readUserData(octets: Buffer, esmClass: number, isMarked: boolean): ReceiptText {
  if ((esmClass & HAS_UDH) === 0 || octets.length === 0) return readOctets(octets, isMarked);
  const behind = readOctets(octets.subarray(1 + (octets[0] ?? 0)), isMarked);
  return behind.id === undefined ? readOctets(octets, isMarked) : behind;
}

function readOctets(octets: Buffer, isMarked: boolean): ReceiptText {
  const found = readString(octets.toString("latin1"), isMarked);
  // ASCII labelled as UCS-2 is common, so the label is ignored: UCS-2 shows by its zeros, or by the
  // mark of byte order with which some begin.
  const isUcs2 = octets[0] === 0 || (octets[0] === 0xfe && octets[1] === 0xff);
  if (found.id !== undefined || !isUcs2) return found;
  const units = Buffer.from(octets.subarray(0, octets.length & ~1));
  return readString(units.swap16().toString("utf16le").toWellFormed(), isMarked);
}

/** A bare word counts as the state only if the message is marked as a receipt. */
function readString(text: string, isMarked: boolean): ReceiptText {
  const found = readReceiptText(text);
  if (isMarked && found.id !== undefined) found.stat ??= bareState(text);
  return found;
}

/** Effects by the protocol's words, and by the same words in full. */
const effects = new Map<string, Effect>([
  ["DELIVRD", "delivered"],
  ["DELIVERED", "delivered"],
  ["UNDELIV", "undelivered"],
  ["UNDELIVERABLE", "undelivered"],
  ["UNDELIVERED", "undelivered"],
  ["EXPIRED", "undelivered"],
  ["DELETED", "undelivered"],
  ["REJECTD", "rejected"],
  ["REJECTED", "rejected"],
  ["ENROUTE", "none"],
  ["ACCEPTD", "none"],
  ["ACCEPTED", "none"],
  ["BUFFRED", "none"],
  ["BUFFERED", "none"],
  ["SCHEDULED", "none"],
]);

function findEffect(
  name: string,
  stat: string,
  carrierStates: ReadonlyMap<string, Effect>,
): Effect | undefined {
  return carrierStates.get(stat) ?? carrierStates.get(name) ?? effects.get(name);
}

function errorCode(
  effect: Effect,
  name: string,
  err: string | undefined,
  carrierCodes: ReadonlyMap<string, DeliveryErrorCode>,
): DeliveryErrorCode | null {
  if (effect === "delivered" || effect === "none") return null;
  const refined = err === undefined ? undefined : carrierCodes.get(err);
  if (refined !== undefined) return refined;
  if (effect === "rejected") return "REJECTED_BY_CARRIER";
  if (name === "EXPIRED") return "EXPIRED";
  return name === "DELETED" ? "UNKNOWN" : "RECIPIENT_UNREACHABLE";
}
