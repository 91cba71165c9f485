import { randomFillSync } from "node:crypto";

const pool = Buffer.alloc(8 * 1024);
let used = pool.length;
let lastMs = 0;
let counter = 0;

/**
 * A UUIDv7: its first 48 bits are the time in milliseconds, so ids sort by age. Ids of one process
 * never go backwards, even within a millisecond or when the clock steps back.
 */
export function newId(nowMs: number): string {
  const random = randomOctets(9);
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // Starting in the lower half leaves room to count up within the millisecond.
    counter = ((random[8] ?? 0) << 3) | ((random[0] ?? 0) & 7);
  } else {
    counter += 1;
    if (counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
  }
  const time = lastMs.toString(16).padStart(12, "0");
  const low = random.toString("hex", 0, 8);
  const variant = (((random[0] ?? 0) & 0x3f) | 0x80).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${variant}${low.slice(2, 4)}-${low.slice(4, 16)}`;
}

/**
 * A message's id ends in the digit 0, and the id of its nth event ends in the digit n: an event is
 * found by its id through the message's own index, and needs no index of its own.
 */
export function newMessageId(nowMs: number): string {
  return `${newId(nowMs).slice(0, -1)}0`;
}

export function eventId(messageId: string, sequence: number): string {
  return `${messageId.slice(0, -1)}${sequence.toString(16)}`;
}

/** The message and sequence that an event id stands for; undefined where it can be none. */
export function parseEventId(id: string): { messageId: string; sequence: number } | undefined {
  const sequence = Number.parseInt(id.slice(-1), 16);
  if (!isId(id) || sequence === 0) return undefined;
  return { messageId: `${id.slice(0, -1)}0`, sequence };
}

/** The smallest UUIDv7 of a moment: a bound for everything that is older or younger than it. */
export function idFloor(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** The moment in a UUIDv7; of any other id, some moment. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a string from outside can be an id at all; the database refuses to cast anything else. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

function randomOctets(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.subarray(used - count, used);
}
