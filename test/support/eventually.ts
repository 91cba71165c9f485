import { systemClock } from "#platform";

/** Longer than anything a test waits for on a busy machine. */
export const LIMIT_MS = 120_000;

/** Asks again and again until the answer is not `false`, and gives it. Fails by the name of what it waits for. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | false>,
): Promise<Answer> {
  const began = systemClock.monotonicMs();
  for (;;) {
    const answer = await ask();
    if (answer !== false) return answer;
    if (systemClock.monotonicMs() - began > LIMIT_MS)
      throw new Error(`waited in vain until ${what}`);
    await systemClock.sleep(20);
  }
}
