import assert from "node:assert/strict";
import type { Lanes } from "../../server/webhooks/lanes.ts";
import type { Place } from "../../server/webhooks/lane.ts";
import type { Outcome } from "../../server/webhooks/outcome.ts";

export const ok: Outcome = { kind: "answered", status: 200, retryAfter: null };
export const late: Outcome = { kind: "failed", class: "timeout", detail: "" };

/** The key of the nth host of the mth account. */
export function key(account: number, host = 0): bigint {
  return BigInt(account) * 65_536n + BigInt(host);
}

export function placeOf(hostKey: bigint): Place {
  return { accountId: "a1", hostname: `h${hostKey}`, origin: `https://h${hostKey}` };
}

/** One attempt, from taking its slot to its end. */
export function attempt(
  lanes: Lanes,
  hostKey: bigint,
  outcome: Outcome,
  { durationMs = 10, at = placeOf(hostKey) }: { durationMs?: number; at?: Place | undefined } = {},
): void {
  assert.ok(lanes.take(hostKey, "first"));
  assert.ok(lanes.begin(hostKey, "first", at));
  lanes.end({ hostKey, kind: "first", place: at, outcome, durationMs });
}
