/** Each latency class is this much wider than the one before, as in SQL's `latency_class`. */
const RATIO = 1.1;

export type Histogram = readonly { class: number; count: number }[];

/** The latency, within 5 %, that this share of all stays below; null if there is none. */
export function percentileMs(histogram: Histogram, share: number): number | null {
  const total = histogram.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  for (const { class: width, count } of histogram.toSorted((a, b) => a.class - b.class)) {
    seen += count;
    if (seen >= share * total) return Math.round(RATIO ** (width + 0.5));
  }
  return null;
}
