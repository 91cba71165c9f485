const ISO =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i;

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Reads ISO 8601 with a zone; undefined for anything else, and for days that do not exist. */
export function readTime(text: string): Date | undefined {
  const match = ISO.exec(text);
  if (!match) return undefined;
  const day = match[1] ?? "";
  const isRealDay = new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) ?? false;
  const time = new Date(text.toUpperCase());
  // In UTC it may fall into the year 10000, which our own format cannot express.
  return isRealDay && time.getTime() <= LAST_MS ? time : undefined;
}

/**
 * The first millisecond that is not before the given time. As a bound for times in whole
 * milliseconds, inclusive below or exclusive above, it means the same as the finer time. Null if
 * none was given.
 */
export function readBound(text = ""): Date | null {
  const time = readTime(text);
  if (!time) return null;
  const isFiner = /\.\d{3}\d*[1-9]/.test(text);
  return isFiner ? new Date(Math.min(time.getTime() + 1, LAST_MS)) : time;
}
