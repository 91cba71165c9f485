import { type Clock, MINUTE_MS } from "#platform";

/** What this node has recorded of a carrier within the last hour. */
export type CarrierHour = {
  /** When this node started counting, if less than an hour ago; it knows nothing from before. */
  since: string | null;
  /** Refused submits by the carrier's code, only the most frequent codes. */
  refusals: Record<string, number>;
  /** Receipts that came after their message had ended: they are kept and change nothing. */
  lateReceipts: number;
};

type Minute = { minute: number; refusals: Map<string, number>; lateReceipts: number };

const MINUTES = 60;

/** Codes counted per minute and codes reported: a hostile carrier could invent them for ever. */
const MOST_CODES = 100;
const TOLD_CODES = 30;

/** Counts by the minute and forgets after sixty. In memory: a restarted node starts from zero. */
export function lastHour(clock: Clock) {
  const carriers = new Map<string, Minute[]>();
  const [began, beganMs] = [clock.now().toISOString(), clock.monotonicMs()];
  const now = () => Math.floor(clock.monotonicMs() / MINUTE_MS);
  const fresh = (carrierId: string) =>
    (carriers.get(carrierId) ?? []).filter(({ minute }) => minute > now() - MINUTES);

  function current(carrierId: string): Minute {
    const last = carriers.get(carrierId)?.at(-1);
    if (last?.minute === now()) return last;
    const next: Minute = { minute: now(), refusals: new Map(), lateReceipts: 0 };
    carriers.set(carrierId, [...fresh(carrierId), next]);
    return next;
  }

  return {
    refused(carrierId: string, code: string): void {
      const { refusals } = current(carrierId);
      if (refusals.size >= MOST_CODES && !refusals.has(code)) return;
      refusals.set(code, (refusals.get(code) ?? 0) + 1);
    },
    cameLate(carrierId: string): void {
      current(carrierId).lateReceipts += 1;
    },
    read(carrierId: string): CarrierHour {
      const minutes = fresh(carrierId);
      const refusals = new Map<string, number>();
      for (const [code, count] of minutes.flatMap((minute) => [...minute.refusals]))
        refusals.set(code, (refusals.get(code) ?? 0) + count);
      const told = [...refusals].toSorted(([, a], [, b]) => b - a).slice(0, TOLD_CODES);
      const lateReceipts = minutes.reduce((sum, minute) => sum + minute.lateReceipts, 0);
      const isYoung = clock.monotonicMs() - beganMs < MINUTES * MINUTE_MS;
      const since = isYoung ? began : null;
      return { since, refusals: Object.fromEntries(told), lateReceipts };
    },
  };
}

export type LastHour = ReturnType<typeof lastHour>;
