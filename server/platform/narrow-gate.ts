/** Gives a place back; whoever has one calls it once. */
export type Leave = () => void;

/** Lets `maxRunning` in at once and keeps `maxWaiting` at the door; the next gets undefined. */
export function narrowGate(maxRunning: number, maxWaiting: number) {
  const waiting: Leave[] = [];
  let running = 0;
  function leave(): void {
    // The place is handed to the next in line, who never sees it free for a stranger to take.
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
