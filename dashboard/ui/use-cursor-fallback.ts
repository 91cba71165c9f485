import { useEffect, useEffectEvent } from "react";
import type { Failure } from "../failure.ts";

/** If a cursor is damaged or belongs to other filters, goes to the first page without a message. */
export function useCursorFallback(failure: Failure | undefined, goToFirst: () => unknown): void {
  const code = failure?.code;
  const go = useEffectEvent(goToFirst);
  useEffect(() => {
    if (code === "CURSOR_INVALID") void go();
  }, [code]);
}
