import type { CSSProperties } from "react";

/** Tells the styles how long a number is, for one too long for its box is shown smaller. */
export function lengthOf(shown: string): CSSProperties {
  return { "--length": shown.length } as CSSProperties;
}
