import { systemClock } from "#platform";

/** Longer than anything a test waits for, even on a busy machine. */
export const LIMIT_MS = 120_000;

/**
 * Repeats `ask` until its answer is not `false`, and returns it. After a while it asks less often,
 * to leave the processor to what it waits for. If it fails, the error names what it waited for.
 */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | false>,
): Promise<Answer> {
  const began = systemClock.monotonicMs();
  for (let pauseMs = 20; ; pauseMs = Math.min(1.1 * pauseMs, 100)) {
    const answer = await ask();
    if (answer !== false) return answer;
    if (systemClock.monotonicMs() - began > LIMIT_MS)
      throw new Error(`waited in vain until ${what}`);
    await systemClock.sleep(pauseMs);
  }
}
