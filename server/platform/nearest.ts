/** The known name that a mistyped one most likely means, or undefined where none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = fold(name).slice(0, 64);
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, fold(candidate)) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  const isNear = best && best.distance <= Math.max(2, Math.floor(best.candidate.length / 3));
  return isNear ? best.candidate : undefined;
}

/** Case and the marks between words do not count. */
function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[_\-\s]/g, "");
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
