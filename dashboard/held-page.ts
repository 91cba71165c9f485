/** How many things are on the screen that nobody can show again. */
let held = 0;

/** Keeps the page where it is until the returned function is called. */
export function holdPage(): () => void {
  held += 1;
  return () => {
    held -= 1;
  };
}

export function isPageHeld(): boolean {
  return held > 0;
}
