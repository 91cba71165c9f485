/** A receiver as people know it; only plain http is worth a word. The filter takes it as it stands. */
export function receiverName(origin: string): string {
  return origin.replace(/^https:\/\//, "");
}
