import {
  formatCompact,
  formatMinute,
  formatMinuteOfDay,
  formatShortDay,
  type Zone,
  zoneShortName,
} from "../../format.ts";

export type Axis = { ticks: number[]; tickFormatter: (value: number) => string };

const MOST_STEPS = 4;

/** Ticks from zero up to the highest value, in whole steps. */
function ticksTo(highest: number, step: number): number[] {
  const steps = Math.max(1, Math.ceil(highest / step));
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}

/** The axis of a count: round steps, never fractions of a message. */
export function countAxis(highest: number): Axis {
  let step = 1;
  while (step * MOST_STEPS < highest) step *= String(step).startsWith("2") ? 2.5 : 2;
  return { ticks: ticksTo(highest, step), tickFormatter: formatCompact };
}

const UNITS = [
  { name: "ms", ms: 1, steps: [1, 2, 5, 10, 20, 50, 100, 200] },
  { name: "s", ms: 1_000, steps: [0.5, 1, 2, 5, 10, 15, 30] },
  { name: "min", ms: 60_000, steps: [1, 2, 5, 10, 15, 30] },
  { name: "h", ms: 3_600_000, steps: [1, 2, 3, 6, 12] },
];
const SCALES = UNITS.flatMap(({ steps, ...unit }) => steps.map((step) => ({ ...unit, step })));
const LONGEST = { name: "h", ms: 3_600_000, step: 24 };

/** The axis of a duration: round steps, all in one unit. */
export function durationAxis(highestMs: number): Axis {
  const { name, ms, step } =
    SCALES.find((scale) => scale.step * scale.ms * MOST_STEPS >= highestMs) ?? LONGEST;
  return {
    ticks: ticksTo(highestMs, step * ms),
    tickFormatter: (tickMs) => `${tickMs / ms} ${name}`,
  };
}

/** The label of a bucket on the axis: only as much as tells it from the others. */
export function bucketFormat(
  buckets: { start: string }[],
  { bucket, zone }: { bucket: string; zone: Zone },
): (start: string) => string {
  if (bucket === "day") return (start) => formatShortDay(start, zone);
  const days = new Set(buckets.map(({ start }) => formatShortDay(start, zone)));
  const label = days.size > 1 ? formatMinute : formatMinuteOfDay;
  const starts = Map.groupBy(buckets, ({ start }) => label(start, zone));
  // An hour comes twice when the clocks go back.
  return (start) => {
    const shown = label(start, zone);
    return (starts.get(shown)?.length ?? 0) > 1 ? `${shown} ${zoneShortName(start, zone)}` : shown;
  };
}
