import { useDocumentVisibility } from "@mantine/hooks";
import { useState } from "react";
import { nowMs } from "../clock.ts";
import { type Bounds, boundsOf, type RangedPageSearch } from "../range.ts";

/** After a shorter absence, people find the list unchanged. */
const RENEWED_AFTER_MS = 60_000;

/**
 * The bounds of a list's range. A relative range counts from when it was chosen, so that its pages
 * fit together; `at` goes into the address with a cursor, so that they still do when reopened. It
 * is renewed on coming back to an open first page, and by `renew`.
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
