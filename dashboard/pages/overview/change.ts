import { overviewText as text } from "../../text/overview.ts";

const percents = new Intl.NumberFormat("en-GB", {
  style: "percent",
  maximumFractionDigits: 0,
  signDisplay: "exceptZero",
});

/** How a number stands against the range before: "+12% against the range before"; none has no change. */
export function changeInWords(now: number | null, before: number | null): string | undefined {
  if (now === null) return undefined;
  if (!before) return text.noneBefore;
  const change = (now - before) / before;
  return Math.abs(change) < 0.005 ? text.same : text.change(percents.format(change));
}
