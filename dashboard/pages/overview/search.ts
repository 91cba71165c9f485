import { type RangeSearch, readRange } from "../../range.ts";
import type { RawSearch } from "../../search.ts";

export type OverviewSearch = RangeSearch;

/** The last 24 hours are the default, so they are not in the address. */
export function readOverview(raw: RawSearch): OverviewSearch {
  const search = readRange(raw);
  return search.range === "24h" ? {} : search;
}
