import { type RangeSearch, readRange } from "../../range.ts";
import type { RawSearch } from "../../search.ts";

export type OverviewSearch = RangeSearch;

/** The last 24 hours are what the page shows unless asked, so they do not stand in the address. */
export function readOverview(raw: RawSearch): OverviewSearch {
  const search = readRange(raw);
  return search.range === "24h" ? {} : search;
}
