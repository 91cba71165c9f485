import type { ReceiptSink } from "#carriers";
import type { Clock } from "#platform";

import type { Recorder } from "./recorder.ts";

/** Stores receipts and returns those that failed: only they are answered with an error. */
export function receiptSink(recorder: Recorder, clock: Clock): ReceiptSink {
  return {
    async store(arrived) {
      const at = clock.now();
      const results = await Promise.allSettled(
        arrived.map((receipt) => recorder.receipt({ receipt, at })),
      );
      const failed = results.filter((result) => result.status === "rejected");
      const isAnyStored = failed.length < results.length;
      if (failed[0] && !isAnyStored) throw failed[0].reason;
      return arrived.filter((_receipt, n) => results[n]?.status === "rejected");
    },
    storedAtMs: recorder.storedAtMs,
  };
}
