import { arrayText } from "./array-text.ts";

/** The types whose arrays are sent in PostgreSQL's binary format, with their object ids. */
const OIDS = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  timestamptz: 1184,
  uuid: 2950,
};
type Type = keyof typeof OIDS;

const CAST = /^::(\w+)\[\]/;
const HEADER_OCTETS = 20;
const LENGTH_OCTETS = 4;
/** Stands for a null in place of an element's length. */
const NULL_LENGTH = -1;
/** The value is none of the type. */
const NONE = -1;

/**
 * An array as a parameter of the statement that goes on with `after`. If that begins with a cast,
 * such as `::uuid[]`, the array is sent in the binary format of its type: reading ids and times as
 * text was an eighth of what PostgreSQL did to accept a message. If the type has none here, or a
 * value is none of the type, it is sent as text, and PostgreSQL judges it.
 */
export function arrayParameter(values: readonly unknown[], after: string): Buffer | string {
  const type = CAST.exec(after)?.[1];
  if (type === undefined || !isBinary(type)) return arrayText(values);
  return binaryArray(values, type) ?? arrayText(values);
}

function isBinary(type: string): type is Type {
  return Object.hasOwn(OIDS, type);
}

const USUAL_OCTETS = 65_536;
/** Where arrays are put together, one after the other: nothing waits while one is under way. */
let bytes = Buffer.allocUnsafeSlow(USUAL_OCTETS);
let view = new DataView(bytes.buffer);

function binaryArray(values: readonly unknown[], type: Type): Buffer | undefined {
  let end = HEADER_OCTETS;
  let hasNull = 0;
  for (let n = 0; n < values.length; n += 1) {
    const value = values[n];
    const at = end + LENGTH_OCTETS;
    makeRoom(at + mostOctets(value));
    if (value === null || value === undefined) {
      hasNull = 1;
      view.setInt32(end, NULL_LENGTH);
      end = at;
      continue;
    }
    const length = putElement(type, value, at);
    if (length === NONE) return undefined;
    view.setInt32(end, length);
    end = at + length;
  }
  putHeader(values.length, hasNull, OIDS[type]);
  const array = Buffer.allocUnsafe(end);
  bytes.copy(array, 0, 0, end);
  if (bytes.length > USUAL_OCTETS) replaceBytes(USUAL_OCTETS);
  return array;
}

/** One dimension, counted from 1. */
function putHeader(count: number, hasNull: number, oid: number): void {
  view.setInt32(0, 1);
  view.setInt32(4, hasNull);
  view.setInt32(8, oid);
  view.setInt32(12, count);
  view.setInt32(16, 1);
}

function mostOctets(value: unknown): number {
  if (typeof value === "string") return 3 * value.length;
  return value instanceof Uint8Array ? value.length : 8;
}

function makeRoom(octets: number): void {
  if (octets <= bytes.length) return;
  const filled = bytes;
  replaceBytes(2 * octets);
  filled.copy(bytes);
}

function replaceBytes(octets: number): void {
  bytes = Buffer.allocUnsafeSlow(octets);
  view = new DataView(bytes.buffer);
}

/** Returns the octets written, or NONE. */
function putElement(type: Type, value: unknown, at: number): number {
  switch (type) {
    case "uuid":
      return typeof value === "string" ? putUuid(value, at) : NONE;
    case "text":
      return typeof value === "string" ? putText(value, at) : NONE;
    case "smallint":
      if (typeof value !== "number" || (value << 16) >> 16 !== value) return NONE;
      view.setInt16(at, value);
      return 2;
    case "integer":
      if (typeof value !== "number" || (value | 0) !== value) return NONE;
      view.setInt32(at, value);
      return 4;
    case "bigint":
      return typeof value === "number" ? putInt64(value, at) : NONE;
    case "timestamptz":
      return value instanceof Date ? putInt64((value.getTime() - EPOCH_MS) * 1000, at) : NONE;
    case "boolean":
      if (typeof value !== "boolean") return NONE;
      view.setInt8(at, value ? 1 : 0);
      return 1;
    case "bytea":
      return Buffer.isBuffer(value) ? value.copy(bytes, at) : NONE;
  }
}

/** PostgreSQL counts microseconds from here. */
const EPOCH_MS = Date.UTC(2000);
const TWO_TO_32 = 4_294_967_296;

function putInt64(value: number, at: number): number {
  if (!Number.isSafeInteger(value)) return NONE;
  const high = Math.floor(value / TWO_TO_32);
  view.setInt32(at, high);
  view.setUint32(at + 4, value - high * TWO_TO_32);
  return 8;
}

/** Up to here, a loop is faster than a call out of JavaScript. */
const SHORT = 24;

function putText(value: string, at: number): number {
  if (value.length > SHORT) return bytes.write(value, at);
  for (let n = 0; n < value.length; n += 1) {
    const code = value.charCodeAt(n);
    if (code > 0x7f) return bytes.write(value, at);
    bytes[at + n] = code;
  }
  return value.length;
}

const HYPHEN = 0x2d;
const NO_DIGIT = 16;
const DIGITS = new Uint8Array(0x10000).fill(NO_DIGIT);
for (let digit = 0; digit < 16; digit += 1) DIGITS[digit.toString(16).charCodeAt(0)] = digit;

/** Only in the form that we write ourselves, with small letters and hyphens. */
function putUuid(value: string, at: number): number {
  if (value.length !== 36) return NONE;
  let from = 0;
  let seen = 0;
  for (let n = 0; n < 16; n += 1) {
    if (n === 4 || n === 6 || n === 8 || n === 10) {
      if (value.charCodeAt(from) !== HYPHEN) return NONE;
      from += 1;
    }
    const high = DIGITS[value.charCodeAt(from)] as number;
    const low = DIGITS[value.charCodeAt(from + 1)] as number;
    seen |= high | low;
    bytes[at + n] = (high << 4) | low;
    from += 2;
  }
  return seen < NO_DIGIT ? 16 : NONE;
}
