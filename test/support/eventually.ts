import { systemClock } from "#platform";

/** Longer than anything a test waits for on a busy machine. */
export const LIMIT_MS = 120_000;

/**
 * Asks again and again until the answer is not `false`, and gives it; after a while less often, for
 * whoever is waited for needs the processor more. Fails by the name of what it waits for.
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
