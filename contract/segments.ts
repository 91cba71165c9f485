/**
 * How a text is split into segments. The dashboard's counter, the price and what is sent all use
 * this code, so they cannot disagree. Imports nothing, because it also runs in browsers.
 */

/** As sent: GSM 03.38 septets, or UCS-2 as UTF-16 units. */
export type Encoding = "gsm7" | "ucs2";

/** As requested: `auto` means gsm7 if every character has a septet, else ucs2. */
export type EncodingChoice = "auto" | Encoding;

export type SegmentCount = {
  outcome: "counted";
  encoding: Encoding;
  segments: number;
  /** Septets in gsm7 (an extension character is two), UTF-16 code units in ucs2. */
  units: number;
};

export type SplitText = Omit<SegmentCount, "outcome"> & {
  outcome: "split";
  /** The text of each segment. Joined, they are the whole text. */
  parts: string[];
  /** How many units still fit into the last part before another segment begins. */
  unitsLeft: number;
};

/** gsm7 was requested, but these characters do not fit. Each is listed once, where it is first. */
export type NotGsm7 = { outcome: "not_gsm7"; nonGsmCharacters: NonGsmCharacter[] };

/** `position` is an index into the JavaScript string: UTF-16 units, from 0. */
export type NonGsmCharacter = { character: string; position: number };

/** Units in a single segment, and in each of several, which carry a 6-octet header. */
export const SEGMENT_UNITS = {
  gsm7: { single: 160, concatenated: 153 },
  ucs2: { single: 70, concatenated: 67 },
} as const;

/** The most segments that a message may have. */
export const MAX_SEGMENTS = 10;

/** Septet 0x1B, at index 27, announces a character of the extension table; it is none itself. */
const ALPHABET =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1BÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
  "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";

const EXTENSION: Record<string, number> = {
  "\f": 0x0a,
  "^": 0x14,
  "{": 0x28,
  "}": 0x29,
  "\\": 0x2f,
  "[": 0x3c,
  "~": 0x3d,
  "]": 0x3e,
  "|": 0x40,
  "€": 0x65,
};

const ESCAPE = 0x1b;

/** The euro sign, U+20AC, is the last character with a septet. */
const TABLE_SIZE = 0x20ad;

/** By UTF-16 unit: how many septets it takes; 0 if it has none. */
const septetCost = new Uint8Array(TABLE_SIZE);
/** By UTF-16 unit: its septet, or the one that follows the escape. */
const septetOf = new Uint8Array(TABLE_SIZE);
for (const [septet, character] of ALPHABET.split("").entries()) enter(character, septet, 1);
for (const [character, septet] of Object.entries(EXTENSION)) enter(character, septet, 2);
septetCost[ESCAPE] = 0;

function enter(character: string, septet: number, cost: number): void {
  septetCost[character.charCodeAt(0)] = cost;
  septetOf[character.charCodeAt(0)] = septet;
}

/** Splits the text into segments, each filled as far as possible without breaking a pair. */
export function splitText(text: string, choice?: "auto" | "ucs2"): SplitText;
export function splitText(text: string, choice: EncodingChoice): SplitText | NotGsm7;
export function splitText(text: string, choice: EncodingChoice = "auto"): SplitText | NotGsm7 {
  const count = countSegments(text, choice);
  if (count.outcome === "not_gsm7") return count;

  const { encoding, segments, units } = count;
  const { single, concatenated } = SEGMENT_UNITS[encoding];
  if (segments === 1) {
    return {
      outcome: "split",
      encoding,
      segments,
      units,
      parts: [text],
      unitsLeft: single - units,
    };
  }
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = segmentEnd(text, start, encoding);
    parts.push(text.slice(start, end));
    start = end;
  }
  const unitsLeft = concatenated - countUnits(parts.at(-1) ?? "", encoding);
  return { outcome: "split", encoding, segments, units, parts, unitsLeft };
}

/** The numbers of `splitText` without the parts, for pricing every message quickly. */
export function countSegments(text: string, choice?: "auto" | "ucs2"): SegmentCount;
export function countSegments(text: string, choice: EncodingChoice): SegmentCount | NotGsm7;
export function countSegments(
  text: string,
  choice: EncodingChoice = "auto",
): SegmentCount | NotGsm7 {
  const septets = choice === "ucs2" ? NONE : countSeptets(text);
  if (septets !== NONE) return counted(text, "gsm7", septets);
  if (choice !== "gsm7") return counted(text, "ucs2", text.length);
  return { outcome: "not_gsm7", nonGsmCharacters: nonGsmOnce(text) };
}

function counted(text: string, encoding: Encoding, units: number): SegmentCount {
  const { single } = SEGMENT_UNITS[encoding];
  const segments = units <= single ? 1 : countParts(text, encoding, units);
  return { outcome: "counted", encoding, segments, units };
}

function countParts(text: string, encoding: Encoding, units: number): number {
  const hasNoPairs = encoding === "gsm7" && units === text.length;
  if (hasNoPairs) return Math.ceil(units / SEGMENT_UNITS.gsm7.concatenated);

  let parts = 0;
  for (let end = 0; end < text.length; parts += 1) end = segmentEnd(text, end, encoding);
  return parts;
}

/** The end of a segment of a long text that begins at `start`. */
function segmentEnd(text: string, start: number, encoding: Encoding): number {
  const room = SEGMENT_UNITS[encoding].concatenated;
  if (encoding === "ucs2") {
    const end = start + room;
    if (end >= text.length) return text.length;
    return splitsSurrogatePair(text, end) ? end - 1 : end;
  }
  let end = start;
  for (let septets = 0; end < text.length; end += 1) {
    septets += costAt(text, end);
    if (septets > room) break;
  }
  return end;
}

function splitsSurrogatePair(text: string, position: number): boolean {
  const [before, after] = [text.charCodeAt(position - 1), text.charCodeAt(position)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/** Stands for a text without septets: no count is negative. */
const NONE = -1;

/** Anything but a one-septet character. On ordinary texts, three times as fast as the table. */
const NOT_PLAIN = new RegExp(`[^${ALPHABET.replace("\x1B", "").replace("-", "\\-")}]`);

function countSeptets(text: string): number {
  if (!NOT_PLAIN.test(text)) return text.length;
  let septets = 0;
  for (let position = 0; position < text.length; position += 1) {
    const cost = costAt(text, position);
    if (cost === 0) return NONE;
    septets += cost;
  }
  return septets;
}

function countUnits(text: string, encoding: Encoding): number {
  return encoding === "ucs2" ? text.length : countSeptets(text);
}

function costAt(text: string, position: number): number {
  const unit = text.charCodeAt(position);
  return unit < TABLE_SIZE ? (septetCost[unit] ?? 0) : 0;
}

/**
 * Every position of a character without a septet, in order. A surrogate pair is one character; a
 * lone surrogate is listed as it is.
 */
export function nonGsmCharacters(text: string): NonGsmCharacter[] {
  const found: NonGsmCharacter[] = [];
  let position = 0;
  for (const character of text) {
    if (costAt(text, position) === 0) found.push({ character, position });
    position += character.length;
  }
  return found;
}

/** Enough to say why a text is refused. */
const MOST_NON_GSM = 100;

/** Each once, where it occurs first. Works on code points, because the text may be very long. */
function nonGsmOnce(text: string): NonGsmCharacter[] {
  const places = new Map<number, number>();
  for (let at = 0; at < text.length && places.size < MOST_NON_GSM; at += 1) {
    if (costAt(text, at) > 0) continue;
    const point = text.codePointAt(at) ?? 0;
    if (!places.has(point)) places.set(point, at);
    if (point > 0xffff) at += 1;
  }
  return [...places].map(([point, position]) => ({
    character: String.fromCodePoint(point),
    position,
  }));
}

/**
 * One septet per octet, not packed. An extension character is the escape and its septet. Null if a
 * character has no septet, because octet 0 in its place would be shown as "@".
 */
export function encodeGsm7(text: string): Uint8Array | null {
  const septets = countSeptets(text);
  if (septets === NONE) return null;

  const octets = new Uint8Array(septets);
  let at = 0;
  for (let position = 0; position < text.length; position += 1) {
    const unit = text.charCodeAt(position);
    if (septetCost[unit] === 2) octets[at++] = ESCAPE;
    octets[at++] = septetOf[unit] ?? 0;
  }
  return octets;
}

/** UTF-16, high octet first, without a byte order mark. */
export function encodeUcs2(text: string): Uint8Array {
  const octets = new Uint8Array(text.length * 2);
  for (let position = 0; position < text.length; position += 1) {
    const unit = text.charCodeAt(position);
    octets[position * 2] = unit >> 8;
    octets[position * 2 + 1] = unit & 0xff;
  }
  return octets;
}
