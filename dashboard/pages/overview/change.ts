import { ENOUGH_FOR_A_RATE, formatNumber, formatSigned } from "../../format.ts";
import { overviewText as text } from "../../text/overview.ts";

const points = new Intl.NumberFormat("en-GB", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: "exceptZero",
});

/** From a tenfold change on, the former value says more than a percentage. */
const TELLING_CHANGE = 10;

/**
 * Compares a number with the period before: "+12 % vs. previous period", "up from 2 in previous
 * period" if far higher, or that there was none before. Undefined without a number now.
 */
export function changeInWords(
  now: number | null,
  before: number | null,
  format: (value: number) => string = formatNumber,
): string | undefined {
  if (now === null) return undefined;
  if (!before) return text.noneBefore;
  const change = (now - before) / before;
  if (change >= TELLING_CHANGE) return text.upFrom(format(before));
  return Math.abs(change) < 0.005 ? text.same : text.change(`${formatSigned(change * 100)} %`);
}

type Part = { delivered: number; final: number };

/** Compares a rate with the period before, in points; undefined if either says little. */
export function rateChangeInWords(now: Part, before: Part): string | undefined {
  const [is, was] = [rateOf(now), rateOf(before)];
  if (is === undefined || was === undefined) return undefined;
  const change = (is - was) * 100;
  return Math.abs(change) < 0.005 ? text.same : text.change(text.points(points.format(change)));
}

function rateOf({ delivered, final }: Part): number | undefined {
  return final < ENOUGH_FOR_A_RATE ? undefined : delivered / final;
}
