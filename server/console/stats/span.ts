import type { ranges } from "#contract";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "#platform";

export type Bucket = "minute" | "quarter" | "hour" | "day";
export type Span = {
  from: Date;
  to: Date;
  zone: string;
  bucket: Bucket;
  /** Where the buckets start; the last one ends at `to`. */
  starts: Date[];
  /** The width, in minutes, of the sums to read. */
  width: 1 | 15;
};

type Asked = {
  range?: (typeof ranges)[number];
  from?: Date | null;
  to?: Date | null;
  zone?: string;
};

/** Sums per minute are kept 48 hours; this leaves a margin. */
const MINUTES_KEPT_MS = 47 * HOUR_MS;
const MAX_DAYS = 400;
/** Leaves room for the buckets around a range in both PostgreSQL's years and our time format. */
const FIRST_YEAR = 2000;
const LAST_YEAR = 9998;

const WIDTHS_MS = { minute: MINUTE_MS, quarter: 15 * MINUTE_MS, hour: HOUR_MS } as const;

/** How many buckets each range has, including the current, unfinished one. */
const RANGES = {
  "15m": ["minute", 15],
  "1h": ["minute", 60],
  "24h": ["hour", 24],
  "7d": ["day", 7],
  "30d": ["day", 30],
} as const satisfies Record<string, readonly [Bucket, number]>;

/**
 * The whole buckets, in the requested zone, that cover a range; or words for what is wrong with it.
 * Days begin at the zone's midnight and may have 23 or 25 hours.
 */
export function spanOf(
  asked: Asked,
  now: Date,
): Span | { wrong: { field: string; message: string } } {
  const { range = "24h", zone = "UTC" } = asked;
  if (!isZone(zone)) return wrong("zone", `There is no time zone ${zone}.`);
  if (range !== "custom") {
    const [bucket, count] = RANGES[range];
    return buckets({
      bucket,
      zone,
      first: back(floor(now, bucket, zone), bucket, zone, count - 1),
      until: now,
    });
  }
  const { from, to } = asked;
  if (!from || !to) return wrong("from", "A custom range needs from and to.");
  if (from >= to) return wrong("from", "from must be before to.");
  if (to.getTime() - from.getTime() > MAX_DAYS * DAY_MS)
    return wrong("from", `A range has at most ${MAX_DAYS} days.`);
  if (from.getUTCFullYear() < FIRST_YEAR || to.getUTCFullYear() > LAST_YEAR)
    return wrong("from", `A range is in the years ${FIRST_YEAR} to ${LAST_YEAR}.`);
  const bucket = bucketFor(from, to, now);
  return buckets({
    bucket,
    zone,
    first: floor(from, bucket, zone),
    until: new Date(to.getTime() - 1),
  });
}

function wrong(field: string, message: string) {
  return { wrong: { field, message } };
}

/** As many buckets just before; if the span is not over, cut to the same elapsed time. */
export function spanBefore(span: Span, now: Date): Span {
  const { bucket, zone, starts, from, to } = span;
  const first = back(from, bucket, zone, starts.length);
  const before = buckets({ bucket, zone, first, until: new Date(from.getTime() - 1) });
  const width = isKept(first, now) ? before.width : 15;
  if (now >= to) return { ...before, width };
  const stepMs = width * MINUTE_MS;
  const lastedMs = Math.max(0, Math.ceil((now.getTime() - from.getTime()) / stepMs) * stepMs);
  const end = Math.min(first.getTime() + lastedMs, before.to.getTime());
  return { ...before, width, to: new Date(end) };
}

function isKept(from: Date, now: Date): boolean {
  return now.getTime() - from.getTime() < MINUTES_KEPT_MS;
}

function bucketFor(from: Date, to: Date, now: Date): Bucket {
  const lengthMs = to.getTime() - from.getTime();
  if (lengthMs <= 3 * WIDTHS_MS.hour && isKept(from, now)) return "minute";
  if (lengthMs <= 12 * WIDTHS_MS.hour) return "quarter";
  return lengthMs <= 4 * DAY_MS ? "hour" : "day";
}

function buckets({
  bucket,
  zone,
  first,
  until,
}: {
  bucket: Bucket;
  zone: string;
  first: Date;
  until: Date;
}): Span {
  const starts: Date[] = [];
  let start = first;
  while (start <= until) {
    starts.push(start);
    start = back(start, bucket, zone, -1);
  }
  return { from: first, to: start, zone, bucket, starts, width: bucket === "minute" ? 1 : 15 };
}

/** The start of the bucket that contains a moment. */
function floor(moment: Date, bucket: Bucket, zone: string): Date {
  const local = inZone(moment, zone);
  if (bucket === "day") return new Date(local.startOfDay().epochMilliseconds);
  // Zone offsets are whole quarter hours, so an hour in any zone starts on a quarter hour of UTC.
  const offsetMs = local.offsetNanoseconds / 1_000_000;
  const width = WIDTHS_MS[bucket];
  return new Date(Math.floor((moment.getTime() + offsetMs) / width) * width - offsetMs);
}

/** This many buckets earlier: days by the calendar, the others by the clock. */
function back(start: Date, bucket: Bucket, zone: string, count: number): Date {
  if (bucket !== "day") return new Date(start.getTime() - count * WIDTHS_MS[bucket]);
  const day = inZone(start, zone).toPlainDate().subtract({ days: count });
  return new Date(day.toZonedDateTime(zone).epochMilliseconds);
}

function inZone(moment: Date, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(moment.getTime()).toZonedDateTimeISO(zone);
}

function isZone(zone: string): boolean {
  // Some parsers accept offsets such as +05:30 as zones, but those have no daylight saving.
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    inZone(new Date(0), zone);
    return true;
  } catch {
    return false;
  }
}
