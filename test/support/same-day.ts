import { systemClock } from "#platform";

/** Longer than a test takes, even on a busy machine. */
const ENOUGH_MS = 60_000;

/** For tests whose figures belong to one day or month: if it is about to end, waits for the next. */
export async function sameDay(zone = "UTC"): Promise<void> {
  const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "short", timeZone: zone });
  const nowMs = () => systemClock.now().getTime();
  while (day.format(nowMs()) !== day.format(nowMs() + ENOUGH_MS)) await systemClock.sleep(1_000);
}
