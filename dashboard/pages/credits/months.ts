/** The month in UTC, as the ledger names it: 2026-11. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** The months since the account was created, and always the chosen one; newest first. */
export function ledgerMonths(
  createdAt: string | undefined,
  chosen: string | undefined,
  nowMs: number,
): string[] {
  const now = new Date(nowMs);
  const start = new Date(createdAt ?? nowMs);
  const years = now.getUTCFullYear() - start.getUTCFullYear();
  const count = years * 12 + now.getUTCMonth() - start.getUTCMonth() + 1;
  const months = Array.from({ length: count }, (_, back) =>
    monthOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)),
  );
  return [...new Set(chosen === undefined ? months : [chosen, ...months])].toSorted().toReversed();
}
