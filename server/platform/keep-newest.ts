/** Forgets the entry that was put in first, where there are more than so many: after each that is put in. */
export function keepNewest(known: Map<unknown, unknown> | Set<unknown>, most: number): void {
  if (known.size > most) known.delete(known.keys().next().value);
}
