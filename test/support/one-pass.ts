import type { Loop } from "#platform";

/** Runs one pass of a loop; returns how much it found. */
export async function onePass(loop: Loop): Promise<number> {
  return (await loop.pass(new AbortController().signal)) ?? 0;
}
