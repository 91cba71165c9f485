/** Numbers, dates and durations as people read them. In English; the reader chooses the zone. */
const LOCALE = "en-GB";

const wholeNumbers = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const signedNumbers = new Intl.NumberFormat(LOCALE, {
  maximumFractionDigits: 0,
  signDisplay: "exceptZero",
});
const compactNumbers = new Intl.NumberFormat(LOCALE, {
  notation: "compact",
  maximumFractionDigits: 2,
});

export function formatNumber(value: number): string {
  return wholeNumbers.format(value);
}

/** A count that may have stopped early. */
export function formatCounted(count: number, isMore: boolean): string {
  return isMore ? `${formatNumber(count)} or more` : formatNumber(count);
}

/** With a sign, as in a ledger: +1,000 and -2. */
export function formatSigned(value: number): string {
  return signedNumbers.format(value);
}

/** For the axis of a chart: 12K. */
export function formatCompact(value: number): string {
  return compactNumbers.format(value);
}

/** "One message", "two messages": unless given, the plural is the singular with an s. */
export function countOf(count: number, one: string, many: string = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** From two years on, nobody counts days. */
const DAYS_COUNTED = 2 * 365;

/** How long credits last. */
export function formatDays(days: number): string {
  if (days < 1) return "less than a day";
  if (days >= 100 * 365) return "100 years or more";
  return days < DAYS_COUNTED ? countOf(days, "day") : countOf(Math.floor(days / 365), "year");
}

/** Below this many, a rate says little. */
export const ENOUGH_FOR_A_RATE = 20;

/** "97.13 %", or undefined if there are too few for a rate. */
export function formatRate(part: number, whole: number): string | undefined {
  if (whole < ENOUGH_FOR_A_RATE) return undefined;
  return `${((part / whole) * 100).toFixed(2)} %`;
}

/** "12 %" as a whole number; a small share never reads as zero. */
export function formatShare(part: number, whole: number): string {
  const percent = (part / whole) * 100;
  return percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The two largest units: 820 ms, 2.4 s, 1 min 12 s, 3 h 5 min, 2 d 4 h. Seconds in tenths. */
export function formatDuration(ms: number): string {
  const step = ms < SECOND_MS ? 1 : 100;
  const whole = Math.round(Math.max(0, ms) / step) * step;
  if (whole < SECOND_MS) return `${whole} ms`;
  if (whole < MINUTE_MS) return `${(whole / SECOND_MS).toFixed(1)} s`;
  if (whole < HOUR_MS) return inTwo(whole, [MINUTE_MS, "min"], [SECOND_MS, "s"]);
  if (whole < DAY_MS) return inTwo(whole, [HOUR_MS, "h"], [MINUTE_MS, "min"]);
  return inTwo(whole, [DAY_MS, "d"], [HOUR_MS, "h"]);
}

function inTwo(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small);
  const first = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

type Unit = [ms: number, name: string];

// Never "tomorrow": 24 hours from now may be another day in the reader's calendar.
const relativeTimes = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always" });
const BELOW_DAYS = [
  [MINUTE_MS, "minute", 60],
  [HOUR_MS, "hour", 24],
] as const;

/** "3 minutes ago" or "in 2 days", rounded; "just now" for less than a minute ago. */
export function formatRelative(iso: string, nowMs: number): string {
  const awayMs = Date.parse(iso) - nowMs;
  if (Math.abs(awayMs) < MINUTE_MS) return awayMs > SECOND_MS ? "in under a minute" : "just now";
  for (const [unitMs, unit, end] of BELOW_DAYS) {
    const count = Math.round(awayMs / unitMs);
    if (Math.abs(count) < end) return relativeTimes.format(count, unit);
  }
  return relativeTimes.format(Math.round(awayMs / DAY_MS), "day");
}

export type Zone = string;

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(zone: Zone, name: string, options: Intl.DateTimeFormatOptions) {
  const key = `${name} ${zone}`;
  const made =
    formatters.get(key) ?? new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: zone });
  formatters.set(key, made);
  return made;
}

/** "15 Nov 2026, 09:30:00" in the zone. */
export function formatTime(iso: string, zone: Zone): string {
  const options = { dateStyle: "medium", timeStyle: "medium" } as const;
  return formatterOf(zone, "time", options).format(new Date(iso));
}

/** "09:30:00.123": with milliseconds, for when the order within a second matters. */
export function formatClock(iso: string, zone: Zone): string {
  const options = {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
  } as const;
  return formatterOf(zone, "clock", options).format(new Date(iso));
}

/** The same with its day: "15 Nov 2026, 09:30:00.123". */
export function formatDayClock(iso: string, zone: Zone): string {
  return `${formatDay(iso, zone)}, ${formatClock(iso, zone)}`;
}

/** Whether two moments are on the same day in the zone. */
export function isSameDay(one: string, other: string, zone: Zone): boolean {
  return formatDay(one, zone) === formatDay(other, zone);
}

/** "15 Nov 2026" in the zone. */
export function formatDay(iso: string, zone: Zone): string {
  return formatterOf(zone, "day", { dateStyle: "medium" }).format(new Date(iso));
}

/** "15 Nov 2026, 09:30": the end of a range, which may be years ago. */
export function formatDayMinute(iso: string, zone: Zone): string {
  const options = { dateStyle: "medium", timeStyle: "short" } as const;
  return formatterOf(zone, "day minute", options).format(new Date(iso));
}

/** "15 Nov, 09:30": on the axis of a chart. */
export function formatMinute(iso: string, zone: Zone): string {
  const options = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
  return formatterOf(zone, "minute", options).format(new Date(iso));
}

/** "09:30": for when the day is clear. */
export function formatMinuteOfDay(iso: string, zone: Zone): string {
  const options = { hour: "2-digit", minute: "2-digit" } as const;
  return formatterOf(zone, "minute of day", options).format(new Date(iso));
}

/** "15 Nov": on the axis of a chart of days. */
export function formatShortDay(iso: string, zone: Zone): string {
  return formatterOf(zone, "short day", { day: "numeric", month: "short" }).format(new Date(iso));
}

/** ISO 8601 UTC with milliseconds, as the API writes it. */
export function toIso(iso: string): string {
  return new Date(iso).toISOString();
}

/** The zone of this browser, such as Europe/Paris. */
export function browserZone(): Zone {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** "Europe/Paris" becomes "Paris time"; UTC stays UTC. */
export function zoneName(zone: Zone): string {
  if (zone === "UTC") return "UTC";
  const city = zone.split("/").at(-1) ?? zone;
  return `${city.replaceAll("_", " ")} time`;
}

/** "CEST" or "GMT-4": tells apart two times that read the same, when the clocks go back. */
export function zoneShortName(iso: string, zone: Zone): string {
  const parts = formatterOf(zone, "zone", { timeZoneName: "short" }).formatToParts(new Date(iso));
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}
