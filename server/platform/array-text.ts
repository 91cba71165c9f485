import { isoTime } from "./timestamp.ts";

/** Values that need no quotes in an array: ids, numbers, times, words. */
const PLAIN = /^[\w:.+-]+$/;
const NULL = /^null$/i;
const TO_ESCAPE = /["\\]/;
const ALL_TO_ESCAPE = /["\\]/g;

/**
 * An array literal for PostgreSQL. Most elements are ids, numbers and times, which need no quotes.
 * The driver would search each of them for characters to escape, which costs several times as much.
 */
export function arrayText(values: readonly unknown[]): string {
  let text = "{";
  for (let n = 0; n < values.length; n += 1) {
    if (n > 0) text += ",";
    text += elementText(values[n]);
  }
  return `${text}}`;
}

function elementText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return isPlain(value) ? value : quoted(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString("hex")}"`;
  if (value instanceof Date) return isoTime(value);
  throw new TypeError(`An array for the database holds a ${typeof value}.`);
}

function isPlain(value: string): boolean {
  return PLAIN.test(value) && !(value.length === 4 && NULL.test(value));
}

function quoted(value: string): string {
  return TO_ESCAPE.test(value) ? `"${value.replaceAll(ALL_TO_ESCAPE, "\\$&")}"` : `"${value}"`;
}
