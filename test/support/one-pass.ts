import type { Loop } from "#platform";

/** What a loop does between two rests; answers how much it found. */
export function onePass(loop: Loop): Promise<number> {
  return loop.pass(new AbortController().signal);
}
