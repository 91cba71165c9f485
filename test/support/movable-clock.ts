import { type Clock, systemClock } from "#platform";

/** The real clock, ahead by as much as the test says: timers run normally, dates jump. */
export function movableClock(): Clock & { advance(ms: number): void } {
  let aheadMs = 0;
  return {
    ...systemClock,
    now: () => new Date(systemClock.now().getTime() + aheadMs),
    advance(ms) {
      aheadMs += ms;
    },
  };
}
