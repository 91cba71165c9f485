import { narrowGate } from "#platform";

/** The most that run at once, to spare a receiver on a developer's machine. */
const MAX_RUNNING = 32;

/** Runs work in parallel, but the work of one message in order. */
export function inOrderPerMessage() {
  const tails = new Map<string, Promise<void>>();
  const gate = narrowGate(MAX_RUNNING, Number.POSITIVE_INFINITY);
  let size = 0;

  async function inPlace(work: () => Promise<void>): Promise<void> {
    const leave = await gate.enter();
    try {
      await work();
    } finally {
      leave?.();
    }
  }

  return {
    /** Never waits: the caller must be free to go on reading. */
    add(messageId: string, work: () => Promise<void>): void {
      size += 1;
      const turn = (tails.get(messageId) ?? Promise.resolve()).then(() => inPlace(work));
      const ended = turn.finally(() => {
        size -= 1;
        if (tails.get(messageId) === ended) tails.delete(messageId);
      });
      tails.set(messageId, ended);
    },

    /** How much has not finished yet. */
    size: () => size,

    /** Resolves once all of it has finished. */
    async idle(): Promise<void> {
      await Promise.all(tails.values());
    },
  };
}
