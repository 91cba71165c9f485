import type { CarrierCounts } from "#carriers";

import { statusCode } from "./codec/status.ts";

/** A hostile peer could invent statuses for ever; there are only a few dozen real ones. */
const MOST_STATUSES = 1000;

/** The counts of a carrier since its start. */
export class Tally {
  readonly counts: CarrierCounts = {
    accepted: 0,
    acceptedWithoutId: 0,
    refused: 0,
    inDoubt: 0,
    lateAnswers: 0,
    receipts: 0,
    unknownStates: 0,
    unreadable: 0,
    throttled: 0,
    reconnects: 0,
    inboundTexts: 0,
  };
  readonly #statuses = new Map<number, number>();

  accepted(carrierMessageId: string): void {
    this.counts.accepted += 1;
    if (carrierMessageId === "") this.counts.acceptedWithoutId += 1;
  }

  refused(code: number, isThrottled: boolean): void {
    this.counts.refused += 1;
    if (isThrottled) this.counts.throttled += 1;
    if (this.#statuses.size >= MOST_STATUSES && !this.#statuses.has(code)) return;
    this.#statuses.set(code, (this.#statuses.get(code) ?? 0) + 1);
  }

  statuses(): Record<string, number> {
    return Object.fromEntries(
      [...this.#statuses].map(([code, count]) => [statusCode(code), count] as const),
    );
  }
}
