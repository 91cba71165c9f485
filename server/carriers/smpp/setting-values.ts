import type { DeliveryErrorCode } from "#contract";
import { judgeSender } from "#contract/sender";
import { deliveryErrors } from "#contract/words";
import { messageOf } from "#platform";

import type { StatusClass } from "./codec/status.ts";
import type { IdRule } from "./ids.ts";

/**
 * Parses a value from JSON or a command line. Errors go on from the setting's name ("must be …"),
 * with no full stop: several may form one sentence. `form` stands for the value in help texts.
 */
export type Parse<Value> = Read<Value> & { form: string };

type Read<Value> = (given: unknown) => Value;

function parser<Value>(form: string, read: Read<Value>): Parse<Value> {
  return Object.assign(read, { form });
}

/** A wait that doubles from `fromMs` up to `toMs`. */
export type Span = { fromMs: number; toMs: number };

export type TonNpi = { ton: number; npi: number };

/** Strings on the wire are latin1 and end with a NUL. */
export function octetString(maxLength: number): Parse<string> {
  return parser("TEXT", (given) => {
    const text = String(given);
    if (typeof given === "object" || text.length > maxLength) {
      throw new Error(`must be a text of at most ${maxLength} characters`);
    }
    // oxlint-disable-next-line no-control-regex -- A NUL ends a string on the wire.
    if (/[\0]|[^\0-\xff]/.test(text)) throw new Error("has a character that SMPP cannot carry");
    return text;
  });
}

export function requiredString(maxLength: number): Parse<string> {
  const parse = octetString(maxLength);
  return parser(parse.form, (given) => {
    if (given === undefined || given === null || given === "") throw new Error("is missing");
    return parse(given);
  });
}

export function wholeNumber(from: number, to: number): Parse<number> {
  return parser("N", (given) => {
    const value = typeof given === "string" && given.trim() !== "" ? Number(given) : given;
    if (typeof value !== "number" || !Number.isInteger(value) || value < from || value > to) {
      throw new Error(`must be a whole number from ${from} to ${to}`);
    }
    return value;
  });
}

const TRUE = new Set<unknown>([true, "", "on", "true", "yes", "1"]);
const FALSE = new Set<unknown>([false, "off", "false", "no", "0"]);

export const onOff = parser("on|off", (given): boolean => {
  if (TRUE.has(given)) return true;
  if (FALSE.has(given)) return false;
  throw new Error("must be on or off");
});

export function oneOf<const Choice extends string>(...choices: Choice[]): Parse<Choice> {
  return parser(choices.join("|"), (given) => {
    const choice = choices.find((name) => name === given);
    if (choice === undefined) throw new Error(`must be one of ${choices.join(", ")}`);
    return choice;
  });
}

export function optional<Value>(parse: Parse<Value>): Parse<Value | null> {
  return parser(parse.form, (given) => (given === null || given === "" ? null : parse(given)));
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `5m`, `7d`. A bare number is not taken: its unit would be a guess. */
export function duration(fromMs: number, toMs: number): Parse<number> {
  return parser("DURATION", (given) => {
    const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)\s*$/.exec(String(given));
    const [, amount, unit] = match ?? [];
    if (amount === undefined || unit === undefined) {
      throw new Error("must be a duration such as 30s, 5m or 7d");
    }
    const ms = Math.round(Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]);
    if (ms < fromMs || ms > toMs)
      throw new Error(`must be from ${words(fromMs)} to ${words(toMs)}`);
    return ms;
  });
}

function words(ms: number): string {
  if (ms >= 86_400_000) return `${ms / 86_400_000}d`;
  return ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`;
}

/** `1s-60s`, or one duration if the wait does not grow. */
export function span(fromMs: number, toMs: number): Parse<Span> {
  const parse = duration(fromMs, toMs);
  return parser("FROM-TO", (given) => {
    const [first, last = first, ...rest] = String(given).split(/\s*(?:-|–|to)\s*/);
    if (rest.length > 0) throw new Error("must be two durations such as 1s-60s");
    const found = { fromMs: parse(first), toMs: parse(last) };
    if (found.fromMs > found.toMs) throw new Error("must begin with the shorter duration");
    return found;
  });
}

/** A size in octets: a number, or a form such as `72KiB`. */
export function size(from: number, to: number): Parse<number> {
  const parse = wholeNumber(from, to);
  return parser("SIZE", (given) => {
    const match = /^\s*(\d+)\s*KiB\s*$/i.exec(String(given));
    return parse(match === null ? given : Number(match[1]) * 1024);
  });
}

/** `5/0`: type of number, numbering plan. `auto` is null. */
export const tonNpi = parser("TON/NPI", (given): TonNpi | null => {
  if (given === "auto") return null;
  const [, ton, npi] = /^(\d{1,3})\/(\d{1,3})$/.exec(String(given)) ?? [];
  const octet = wholeNumber(0, 255);
  if (ton === undefined || npi === undefined) throw new Error("must be auto, or such as 5/0");
  return { ton: octet(ton), npi: octet(npi) };
});

export const pem = parser("FILE", (given): string => {
  if (typeof given === "string" && given.includes("-----BEGIN ")) return given;
  throw new Error("must be the contents of a PEM file");
});

/** `hex_to_decimal,strip_zeros`: one form, and which differences to ignore. */
export const idRule = parser("RULE", (given): IdRule => {
  const words = String(given)
    .split(/[\s,+]+/)
    .filter(Boolean);
  const forms = words.filter((word) => word !== "strip_zeros" && word !== "fold_case");
  const form = oneOf("exact", "hex_to_decimal", "decimal_to_hex");
  if (forms.length > 1) throw new Error(`names ${forms.join(" and ")}, which exclude each other`);
  return {
    form: form(forms[0] ?? "exact"),
    stripZeros: words.includes("strip_zeros"),
    foldCase: words.includes("fold_case"),
  };
});

/** A JSON object, or its text. Every wrong entry is named. */
export function map<Key, Value>(parseKey: Read<Key>, parse: Read<Value>): Parse<Map<Key, Value>> {
  return parser("JSON", (given) => {
    const faults: string[] = [];
    const entries = Object.entries(jsonObject(given)).flatMap(([key, value]) => {
      try {
        return [[parseKey(key), parse(value)] as const];
      } catch (error) {
        faults.push(`${key} ${messageOf(error)}`);
        return [];
      }
    });
    if (faults.length > 0) throw new Error(`has wrong entries: ${faults.join("; ")}`);
    return new Map(entries);
  });
}

function jsonObject(given: unknown): object {
  const value = typeof given === "string" ? parseJson(given) : given;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Error("must be a JSON object");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Follows the rule for message senders; a number loses its plus. */
export const sender = parser("SENDER", (given): string => {
  const judged = judgeSender(String(given));
  if (judged.outcome === "valid") return judged.sender;
  throw new Error(
    "must be a number with its country code, a short code of 3 to 8 digits, or a name of at most 11 letters, digits, spaces and - _ . & with at least one letter",
  );
});

export function upperCaseWord(given: unknown): string {
  return String(given).toUpperCase();
}

export function deliveryErrorCode(given: unknown): DeliveryErrorCode {
  const code = String(given);
  if (Object.hasOwn(deliveryErrors, code)) return code as DeliveryErrorCode;
  throw new Error(`must be one of ${Object.keys(deliveryErrors).join(", ")}`);
}

/** `"temporary"`, or `{"class": "permanent", "code": "BLOCKED"}`. */
export function statusClass(given: unknown): StatusClass {
  const parseKind = oneOf("temporary", "permanent", "throttled");
  if (typeof given === "string") return statusClass({ class: given });
  const { class: kind, code, ...rest } = jsonObject(given) as Record<string, unknown>;
  const [foreign] = Object.keys(rest);
  if (foreign !== undefined) throw new Error(`has ${foreign}, where only class and code may stand`);
  const parsed = parseKind(kind);
  const fallback = parsed === "permanent" ? "REJECTED_BY_CARRIER" : "EXPIRED";
  return { kind: parsed, code: code === undefined ? fallback : deliveryErrorCode(code) };
}
