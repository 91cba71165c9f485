import type { Clock } from "./clock.ts";

/** Several share these to go one at a time. */
export type Turns = {
  /** Calls `begin` in its turn, which is now where nobody else is at it. */
  ask(begin: () => void): void;
  /** What was begun has ended; once for each `begin`. */
  over(): void;
};

/**
 * One begins when the one before it has ended, in the order in which they asked. Nobody waits longer than
 * `lateMs`: who takes that long, or hangs, is no longer waited for.
 */
export function takeTurns(clock: Pick<Clock, "timer">, lateMs: number): Turns {
  const asking: (() => void)[] = [];
  let going = 0;
  let cancel: (() => void) | undefined;

  function grant(): void {
    cancel?.();
    cancel = undefined;
    const begin = asking.shift();
    if (begin === undefined) return;
    going += 1;
    if (asking.length > 0) cancel = clock.timer(lateMs, grant);
    begin();
  }

  return {
    ask(begin) {
      asking.push(begin);
      if (going === 0) grant();
      else cancel ??= clock.timer(lateMs, grant);
    },
    over() {
      going -= 1;
      if (going === 0) grant();
    },
  };
}
