/** Gives the place back. Its holder must call it exactly once. */
export type Leave = () => void;

/** Lets `maxRunning` in at once and makes `maxWaiting` wait. Further callers get undefined. */
export function narrowGate(maxRunning: number, maxWaiting: number) {
  const waiting: Leave[] = [];
  let running = 0;
  function leave(): void {
    // The place goes straight to the next in line, so that no newcomer can take it.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
  return {
    enter(): Promise<Leave> | undefined {
      if (running < maxRunning) {
        running += 1;
        return Promise.resolve(leave);
      }
      if (waiting.length >= maxWaiting) return undefined;
      return new Promise((resolve) => {
        waiting.push(() => resolve(leave));
      });
    },
    isEmpty: () => running === 0,
  };
}
