import type { Span } from "./setting-values.ts";

/** Keeps links that were lost together from coming back together. */
const JITTER = 0.2;

/** The wait before the nth try in a row, counted from 0. */
export function backoffMs({ fromMs, toMs }: Span, tries: number, random: () => number): number {
  const planned = Math.min(toMs, fromMs * 2 ** Math.min(tries, 32));
  return planned * (1 - JITTER + 2 * JITTER * random());
}
