import type { Zone } from "./format.ts";
import {
  type PageSearch,
  present,
  type RawSearch,
  readChoice,
  readPage,
  readTime,
} from "./search.ts";

/** A relative range stays relative in the address; a custom range is two times. */
export const RANGES = ["15m", "1h", "24h", "7d", "30d"] as const;
export type RelativeRange = (typeof RANGES)[number];

export type RangeSearch = { range?: RelativeRange; from?: string; to?: string };

const MINUTE_MS = 60_000;
const RANGE_MS: Record<RelativeRange, number> = {
  "15m": 15 * MINUTE_MS,
  "1h": 60 * MINUTE_MS,
  "24h": 1_440 * MINUTE_MS,
  "7d": 10_080 * MINUTE_MS,
  "30d": 43_200 * MINUTE_MS,
};

/** Two times in order make a custom range; otherwise a relative one counts, if there is one. */
export function readRange(raw: RawSearch): RangeSearch {
  const [from, to] = [readTime(raw["from"]), readTime(raw["to"])];
  if (from !== undefined && to !== undefined && from < to) return { from, to };
  return present({ range: readChoice(raw["range"], RANGES) });
}

export type RangedPageSearch = PageSearch &
  RangeSearch & {
    /** On all pages but the first: when the relative range was chosen, as cursors depend on it. */
    at?: string;
  };

export function readRangedPage(raw: RawSearch): RangedPageSearch {
  const search = { ...readPage(raw), ...readRange(raw) };
  const isCounted = search.cursor !== undefined && search.range !== undefined;
  return { ...search, ...present({ at: isCounted ? readTime(raw["at"]) : undefined }) };
}

/** The first and the last instant, exclusive; undefined means unbounded. */
export type Bounds = { from?: string; to?: string };

/** The bounds of the range at this moment. */
export function boundsOf(search: RangeSearch, nowMs: number): Bounds {
  if (search.from !== undefined && search.to !== undefined) {
    return { from: search.from, to: search.to };
  }
  if (search.range === undefined) return {};
  return { from: new Date(nowMs - RANGE_MS[search.range]).toISOString() };
}

/** Converts a wall clock time in the page's zone (the browser's or UTC) to an instant. */
export function fromWall(wall: string, zone: Zone): string | undefined {
  const time = Date.parse(zone === "UTC" ? `${wall}Z` : wall);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

export function toWall(iso: string | undefined, zone: Zone): string {
  if (iso === undefined) return "";
  const time = new Date(iso);
  const offsetMs = zone === "UTC" ? 0 : time.getTimezoneOffset() * 60_000;
  return new Date(time.getTime() - offsetMs).toISOString().slice(0, 16);
}
