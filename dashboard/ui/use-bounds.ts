import { useDocumentVisibility } from "@mantine/hooks";
import { useState } from "react";
import { nowMs } from "../clock.ts";
import { type Bounds, boundsOf, type RangedPageSearch } from "../range.ts";

/** Who looks away for less finds the list as it was. */
const RENEWED_AFTER_MS = 60_000;

/**
 * What the range of a list means. A relative one is counted from when it was chosen, so that its pages
 * fit together; `at` goes into the address with a cursor, so that they do so when it is opened again.
 * It is counted anew for who comes back to the first page, which was left open, and by `renew`.
 */
export function useBounds(search: RangedPageSearch): Bounds & { at: string; renew: () => void } {
  const { range } = search;
  const isVisible = useDocumentVisibility() === "visible";
  const [chosen, setChosen] = useState({ range, at: timeNow(), isVisible });
  const isBack = isVisible && !chosen.isVisible && search.cursor === undefined;
  const renew = () => setChosen({ range, at: timeNow(), isVisible });
  const isOld = isBack && nowMs() - Date.parse(chosen.at) > RENEWED_AFTER_MS;
  if (chosen.range !== range || isOld) renew();
  else if (chosen.isVisible !== isVisible) setChosen({ ...chosen, isVisible });
  const at = search.at ?? chosen.at;
  return { ...boundsOf(search, Date.parse(at)), at, renew };
}

function timeNow(): string {
  return new Date(nowMs()).toISOString();
}
