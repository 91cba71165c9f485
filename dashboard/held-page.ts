/** How many things are on the screen that nobody can show again. */
let held = 0;
let waiting: (() => void) | undefined;

/** Keeps the page where it is until the returned function is called. */
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

/** Leaves at once, or when nothing holds the page any more. */
export function whenFree(leave: () => void): void {
  if (held === 0) leave();
  else waiting = leave;
}
