import { useState } from "react";
import { nowMs } from "../clock.ts";
import { type Bounds, boundsOf, type RangedPageSearch } from "../range.ts";

/**
 * What the range of a list means. A relative one is counted from when it was chosen, so that its pages
 * fit together; `at` goes into the address with a cursor, so that they do so when it is opened again.
 */
export function useBounds(search: RangedPageSearch): Bounds & { at: string } {
  const { range } = search;
  const [chosen, setChosen] = useState({ range, at: timeNow() });
  if (chosen.range !== range) setChosen({ range, at: timeNow() });
  const at = search.at ?? chosen.at;
  return { ...boundsOf(search, Date.parse(at)), at };
}

function timeNow(): string {
  return new Date(nowMs()).toISOString();
}
