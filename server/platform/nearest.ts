/** The known name that a mistyped one most likely means; undefined if none is close. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = fold(name);
  const [best] = known
    .map((candidate) => ({ candidate, folded: fold(candidate), most: farthest(candidate) }))
    // If the lengths differ this much, the names cannot match. That is true of most names.
    .filter(({ folded, most }) => Math.abs(folded.length - wanted.length) <= most)
    .map((each) => ({ ...each, distance: editDistance(wanted, each.folded) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= best.most ? best.candidate : undefined;
}

/** How many letters may be wrong. */
function farthest(candidate: string): number {
  return Math.max(2, Math.floor(candidate.length / 3));
}

/** Case and separators do not count. */
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
