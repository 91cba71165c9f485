import { narrowGate } from "#platform";

/** Under way at once: a receiver on a developer's machine gets no more of them side by side. */
const MAX_RUNNING = 32;

/** Runs work side by side, but what concerns one message one after the other. */
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
