import { randomBytes } from "node:crypto";

const POOL_OCTETS = 4 * 1024;
/** Random hexadecimal digits, generated many at a time. */
let pool = "";
let used = 0;
let lastMs = 0;
let time = "";
let counter = 0;

/** A clock set back by more than this had been wrong. Staying ahead of it would keep its error. */
const MAX_AHEAD_MS = 1_000;

/**
 * A UUIDv7: its first 48 bits are the time in milliseconds, so ids sort by age. Use it for things
 * that happen now: ids of one process never go backwards, even within a millisecond or if the clock
 * steps back a little. If it is set back by more, they do.
 */
export function newId(nowMs: number): string {
  if (nowMs > lastMs || nowMs < lastMs - MAX_AHEAD_MS) {
    begin(nowMs);
    // Starts in the lower half, to leave room for counting up within the millisecond.
    counter = Number.parseInt(randomDigits(3), 16) >> 1;
  } else {
    counter += 1;
    if (counter > 0xfff) {
      begin(lastMs + 1);
      counter = 0;
    }
  }
  return assemble(time, counter);
}

/** A UUIDv7 of another time, without effect on `newId`. Sorts by `place` (below 4096) in its ms. */
export function newIdOf(at: Date, place: number): string {
  return assemble(timeDigits(at.getTime()), place & 0xfff);
}

function assemble(timePart: string, count: number): string {
  const random = randomDigits(16);
  const variant = VARIANTS.charAt(Number.parseInt(random.charAt(0), 16) & 3);
  return `${timePart}-7${count.toString(16).padStart(3, "0")}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}

/** The first digit of the variant, by its two free bits. */
const VARIANTS = "89ab";

function begin(ms: number): void {
  lastMs = ms;
  time = timeDigits(ms);
}

function timeDigits(ms: number): string {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

/** Sorts before every other id. */
export const NIL_ID = "00000000-0000-0000-0000-000000000000";

/** The smallest UUIDv7 of a moment: a bound between older and newer ids. */
export function idFloor(time: Date): string {
  return `${timeDigits(Math.max(0, time.getTime()))}-7000-8000-000000000000`;
}

/** The time in a UUIDv7. For any other id, a meaningless time. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether it is an id as we write them. For text from outside, use `readId`. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/**
 * Reads an id from outside in any case; undefined if it is none, because the database would refuse
 * to cast it.
 */
export function readId(text: string): string | undefined {
  const folded = text.toLowerCase();
  return isId(folded) ? folded : undefined;
}

function randomDigits(count: number): string {
  if (used + count > pool.length) {
    pool = randomBytes(POOL_OCTETS).toString("hex");
    used = 0;
  }
  used += count;
  return pool.slice(used - count, used);
}
