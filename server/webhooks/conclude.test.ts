import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#platform";
import { conclude } from "./conclude.ts";
import type { ClaimedDelivery } from "./deliveries.ts";
import type { Attempt } from "./post.ts";

const now = new Date("2026-11-15T09:30:00.000Z");
const ourFault: Attempt = {
  outcome: { kind: "our_fault", detail: "ENETUNREACH 192.0.2.1" },
  status: null,
  answer: null,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 },
  address: null,
};

test("what fails by our own fault costs the delivery nothing, and ends it after a day", () => {
  const after = (ageMs: number) => {
    const claim = { step: 0, createdAt: new Date(now.getTime() - ageMs) } as ClaimedDelivery;
    return conclude(claim, ourFault, { now, health: "proven", random: 0.5 });
  };

  assert.partialDeepStrictEqual(after(DAY_MS), { next: "put_back", attempt: null });
  assert.partialDeepStrictEqual(after(DAY_MS + 1), { next: "ended", ended: "exhausted" });
});
