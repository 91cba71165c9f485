import type { Clock } from "./clock.ts";

/**
 * Several share these to go one at a time. Calls `begin` in its turn, which is now where nobody is at it;
 * whoever begins calls `over` once it has ended, or earlier where nobody need wait for that. A second
 * call changes nothing.
 */
export type Turns = (begin: (over: () => void) => void) => void;

/**
 * One begins when the one before it has ended, in the order in which they asked. Who takes longer than
 * `lateMs`, or hangs, is no longer waited for by anybody.
 */
export function takeTurns(clock: Pick<Clock, "timer" | "monotonicMs">, lateMs: number): Turns {
  const asking: Parameters<Turns>[0][] = [];
  let going: { sinceMs: number } | undefined;
  let cancel: (() => void) | undefined;

  function grant(): void {
    cancel?.();
    cancel = undefined;
    const begin = asking.shift();
    const turn = begin && { sinceMs: clock.monotonicMs() };
    going = turn;
    if (asking.length > 0) letNext();
    begin?.(() => {
      if (going === turn) grant();
    });
  }

  function letNext(): void {
    const leftMs = going ? going.sinceMs + lateMs - clock.monotonicMs() : 0;
    if (leftMs <= 0) grant();
    else cancel ??= clock.timer(leftMs, grant);
  }

  return (begin) => {
    asking.push(begin);
    letNext();
  };
}
