import { useEffect, useEffectEvent } from "react";
import type { Failure } from "../failure.ts";

/** A cursor that is damaged, or of other filters, silently leads to the first page. */
export function useCursorFallback(failure: Failure | undefined, goToFirst: () => unknown): void {
  const code = failure?.code;
  const go = useEffectEvent(goToFirst);
  useEffect(() => {
    if (code === "CURSOR_INVALID") void go();
  }, [code]);
}
