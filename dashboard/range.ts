import type { Zone } from "./format.ts";
import {
  type PageSearch,
  present,
  type RawSearch,
  readChoice,
  readPage,
  readTime,
} from "./search.ts";

/** A relative range stays relative in the address; a custom one is two times. */
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

/** Two times in order are a custom range; else a relative one counts; else there is none. */
export function readRange(raw: RawSearch): RangeSearch {
  const [from, to] = [readTime(raw["from"]), readTime(raw["to"])];
  if (from !== undefined && to !== undefined && from < to) return { from, to };
  return present({ range: readChoice(raw["range"], RANGES) });
}

export type RangedPageSearch = PageSearch &
  RangeSearch & {
    /** On every page but the first: when the relative range was chosen. Cursors hold for its bounds. */
    at?: string;
  };

export function readRangedPage(raw: RawSearch): RangedPageSearch {
  const search = { ...readPage(raw), ...readRange(raw) };
  const isCounted = search.cursor !== undefined && search.range !== undefined;
  return { ...search, ...present({ at: isCounted ? readTime(raw["at"]) : undefined }) };
}

/** The first and the last instant, exclusive; undefined is unbounded. */
export type Bounds = { from?: string; to?: string };

/** What the range means now. */
export function boundsOf(search: RangeSearch, nowMs: number): Bounds {
  if (search.from !== undefined && search.to !== undefined) {
    return { from: search.from, to: search.to };
  }
  if (search.range === undefined) return {};
  return { from: new Date(nowMs - RANGE_MS[search.range]).toISOString() };
}

/** A wall clock time of the page's zone, which is the browser's or UTC, as an instant. */
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
