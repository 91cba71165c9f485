import type { Clock } from "./clock.ts";

/**
 * Lets several callers go one at a time. `begin` is called when it is their turn: at once if nobody
 * is going. It must call `over` when its work has ended, or earlier if the next need not wait for
 * that. Further calls of `over` do nothing.
 */
export type Turns = (begin: (over: () => void) => void) => void;

/**
 * Turns begin in the order in which they were asked for, each after the one before has ended. If a
 * turn hangs or takes longer than `lateMs`, the next one begins without waiting for it.
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
