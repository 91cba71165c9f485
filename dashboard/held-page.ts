/** How many things are on screen that cannot be shown again. */
let held = 0;
let waiting: (() => void) | undefined;

/** Prevents leaving the page until the returned function is called. */
export function holdPage(): () => void {
  held += 1;
  return () => {
    held -= 1;
    if (held > 0) return;
    const run = waiting;
    waiting = undefined;
    run?.();
  };
}

/** Leaves at once, or as soon as nothing holds the page any more. */
export function whenFree(leave: () => void): void {
  if (held === 0) leave();
  else waiting = leave;
}
