import type { Loop } from "#platform";

/** What a loop does between two rests; answers how much it found. */
export async function onePass(loop: Loop): Promise<number> {
  return (await loop.pass(new AbortController().signal)) ?? 0;
}
