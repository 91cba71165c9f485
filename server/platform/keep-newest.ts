/** Removes the oldest entry if there are more than `most`. Call it after each insertion. */
export function keepNewest(known: Map<unknown, unknown> | Set<unknown>, most: number): void {
  if (known.size > most) known.delete(known.keys().next().value);
}
