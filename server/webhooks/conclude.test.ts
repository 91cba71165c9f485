import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#platform";
import { conclude } from "./conclude.ts";
import type { ClaimedDelivery } from "./deliveries.ts";
import type { Health } from "./lane-health.ts";
import type { Attempt } from "./post.ts";

const now = new Date("2026-11-15T09:30:00.000Z");
const ourFault: Attempt = {
  outcome: { kind: "our_fault", detail: "ENETUNREACH 192.0.2.1" },
  status: null,
  answer: null,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 },
  address: null,
};

const timedOut: Attempt = {
  ...ourFault,
  outcome: { kind: "failed", class: "timeout", detail: "no answer" },
};

const aged = (ageMs: number) =>
  ({ step: 0, createdAt: new Date(now.getTime() - ageMs) }) as ClaimedDelivery;

test("a fault of ours costs the delivery nothing, but ends it after a day", () => {
  const after = (ageMs: number) =>
    conclude(aged(ageMs), ourFault, { now, health: "proven", random: 0.5 });

  assert.partialDeepStrictEqual(after(DAY_MS), { next: "put_back", attempt: null });
  assert.partialDeepStrictEqual(after(DAY_MS + 1), { next: "ended", ended: "exhausted" });
});

test("a failed probe ends its delivery if that has waited a day, and only then", () => {
  const after = (ageMs: number, health: Health) =>
    conclude(aged(ageMs), timedOut, { now, health, random: 0.5 });

  assert.partialDeepStrictEqual(after(DAY_MS, "open"), { next: "again", step: 1 });
  assert.partialDeepStrictEqual(after(DAY_MS + 1, "slow"), { next: "again", step: 1 });
  assert.partialDeepStrictEqual(after(DAY_MS + 1, "open"), {
    next: "ended",
    ended: "exhausted",
    attempt: timedOut,
  });
});

test("an attempt is on record by when it began, not when it ended", () => {
  const slow = { ...timedOut, timings: { ...timedOut.timings, totalMs: 10_000 } };

  const { at } = conclude(aged(0), slow, { now, health: "slow", random: 0.5 });

  assert.equal(at.getTime(), now.getTime() - 10_000);
});
