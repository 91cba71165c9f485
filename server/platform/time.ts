const ISO = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i;

/** Reads ISO 8601 with a zone; undefined for anything else, and for days that no calendar has. */
export function readTime(text: string): Date | undefined {
  const match = ISO.exec(text);
  if (!match) return undefined;
  const day = match[1] ?? "";
  const isRealDay = new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) ?? false;
  const time = new Date(text.toUpperCase());
  return isRealDay && !Number.isNaN(time.getTime()) ? time : undefined;
}
