import { readId, readTime } from "#platform";

// Each parses the text of an argument; its error continues the argument's name: "must be …".

export { oneOf, text, wholeNumber } from "#platform";

export function id(value: string): string {
  const read = readId(value.trim());
  if (read === undefined) {
    throw new Error(`must be an id such as 019a85c2-5b00-7abc-8def-0123456789ab, not "${value}".`);
  }
  return read;
}

/** The first digits of a number; empty for all numbers. */
export function prefix(value: string): string {
  if (!/^(\+?\d{1,15})?$/.test(value)) {
    throw new Error(
      `must be the first digits of a number, such as 49, or "" for all: not "${value}".`,
    );
  }
  return value.replace(/^\+/, "");
}

export function webUrl(value: string): string {
  const url = URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`must be a URL such as http://localhost:3000/hook, not "${value}".`);
  }
  return url.href;
}

const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const DURATION = /^(\d{1,9})([smhd])$/;
/** A hundred years. */
const LONGEST_DAYS = 36_500;

export function durationMs(value: string): number {
  const [, amount = "", unit = ""] = DURATION.exec(value.trim()) ?? [];
  if (unit === "") throw new Error(`must be a duration such as 30s, 12h or 90d, not "${value}".`);
  const ms = Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (ms > LONGEST_DAYS * UNITS_MS.d)
    throw new Error(`must be ${LONGEST_DAYS}d or less, not "${value}".`);
  return ms;
}

/** A time, or a distance from now; the command knows in which direction. */
export type Moment = { at: Date } | { distanceMs: number };

export function moment(value: string): Moment {
  const at = readTime(value.trim());
  if (at) return { at };
  if (DURATION.test(value.trim())) return { distanceMs: durationMs(value) };
  throw new Error(
    `must be a time such as 2026-12-31T00:00:00Z, or a duration such as 90d, not "${value}".`,
  );
}

export function momentAfter(given: Moment, now: Date): Date {
  return "at" in given ? given.at : new Date(now.getTime() + given.distanceMs);
}

export function momentBefore(given: Moment, now: Date): Date {
  return "at" in given ? given.at : new Date(now.getTime() - given.distanceMs);
}
