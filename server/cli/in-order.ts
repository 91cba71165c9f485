/** Under way at once: a receiver on a developer's machine gets no more of them side by side. */
const MAX_RUNNING = 32;

/** Runs work side by side, but what concerns one message one after the other. */
export function inOrderPerMessage() {
  const tails = new Map<string, Promise<void>>();
  const waiting: (() => void)[] = [];
  let free = MAX_RUNNING;
  let size = 0;

  async function inPlace(work: () => Promise<void>): Promise<void> {
    if (free > 0) free -= 1;
    else await new Promise<void>((start) => waiting.push(start));
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  }

  return {
    /** Never waits itself: whoever hands work in must be free to go on reading. */
    add(messageId: string, work: () => Promise<void>): void {
      size += 1;
      const turn = (tails.get(messageId) ?? Promise.resolve()).then(() => inPlace(work));
      const ended = turn.finally(() => {
        size -= 1;
        if (tails.get(messageId) === ended) tails.delete(messageId);
      });
      tails.set(messageId, ended);
    },

    /** What has not ended yet. */
    size: () => size,

    /** Resolves when all of it has ended. */
    async idle(): Promise<void> {
      await Promise.all(tails.values());
    },
  };
}
