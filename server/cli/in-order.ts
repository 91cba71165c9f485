/** Events under way at once; what a receiver cannot take faster waits in the database. */
const MAX_RUNNING = 32;

/** Runs work side by side, but what concerns one message one after the other. */
export function inOrderPerMessage() {
  const tails = new Map<string, Promise<void>>();
  const running = new Set<Promise<void>>();

  return {
    /** Resolves when the work has a place; it may still wait for its message's turn. */
    async add(messageId: string, work: () => Promise<void>): Promise<void> {
      while (running.size >= MAX_RUNNING) await Promise.race(running);
      const turn = (tails.get(messageId) ?? Promise.resolve()).then(work);
      const ended = turn.finally(() => {
        running.delete(ended);
        if (tails.get(messageId) === ended) tails.delete(messageId);
      });
      running.add(ended);
      tails.set(messageId, ended);
    },

    /** Resolves when all of it has ended. */
    async idle(): Promise<void> {
      await Promise.all(running);
    },
  };
}
