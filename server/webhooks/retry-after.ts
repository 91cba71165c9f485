/**
 * The wait that a `Retry-After` header asks for: seconds, or a date. Zero for one that is missing,
 * past or cannot be read.
 */
export function retryAfterMs(header: string | null, now: Date): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const at = header.endsWith(" GMT") ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime());
}
