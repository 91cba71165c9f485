import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DAY_MS } from "#platform";
import type { Outcome } from "./outcome.ts";
import { isTooOldToWait, nextStep, type StepContext, WALK_EVERY_MS } from "./schedule.ts";

const now = new Date("2026-11-15T09:30:00.000Z");
const plannedMs = [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 21_600_000];
/** On average, a due delivery waits this long for the walk that finds it. */
const HALF_A_WALK_MS = WALK_EVERY_MS / 2;

function answered(status: number, retryAfter: string | null = null): Outcome {
  return { kind: "answered", status, retryAfter };
}

function waitMs(outcome: Outcome, context: Partial<StepContext> = {}): number {
  const next = nextStep(outcome, { step: 0, now, random: 0.5, ...context });
  assert.equal(next.next, "again");
  return next.waitMs;
}

test("seven attempts are made: at once, then after 5 s, 30 s, 5 min, 30 min, 2 h and 6 h", () => {
  const waits = [];
  let step = 0;
  for (;;) {
    const next = nextStep(answered(500), { step, now, random: 0.5 });
    if (next.next !== "again") {
      assert.deepEqual(next, { next: "ended", ended: "exhausted" });
      break;
    }
    waits.push(next.waitMs + HALF_A_WALK_MS);
    step = next.step;
  }

  assert.deepEqual(waits, plannedMs);
});

test("each wait is spread by a fifth either way, never more, even if the walk after it comes one interval late", () => {
  for (const [step, planned] of plannedMs.entries()) {
    assert.equal(waitMs(answered(503), { step, random: 0 }), 0.8 * planned);
    assert.equal(waitMs(answered(503), { step, random: 1 }) + WALK_EVERY_MS, 1.2 * planned);
  }
});

test("any 2xx is a success, everything else but 410 is tried again", () => {
  for (const status of [200, 201, 204, 299]) {
    assert.deepEqual(nextStep(answered(status), { step: 0, now, random: 0 }), {
      next: "ended",
      ended: "delivered",
    });
  }
  for (const status of [
    300, 301, 302, 307, 308, 304, 400, 401, 404, 408, 409, 411, 429, 499, 500, 503, 599,
  ]) {
    assert.equal(
      nextStep(answered(status), { step: 0, now, random: 0 }).next,
      "again",
      String(status),
    );
  }
});

test("410 ends the delivery at any step", () => {
  for (const step of [0, 3, 6]) {
    assert.deepEqual(nextStep(answered(410), { step, now, random: 0 }), {
      next: "ended",
      ended: "gone",
    });
  }
});

test("a success ends the delivery as delivered, even on the last attempt", () => {
  assert.deepEqual(nextStep(answered(204), { step: 6, now, random: 0 }), {
    next: "ended",
    ended: "delivered",
  });
});

test("a failed connection takes a step like a failed answer", () => {
  const failed: Outcome = { kind: "failed", class: "connect_refused", detail: "" };

  assert.equal(waitMs(failed, { step: 1 }) + HALF_A_WALK_MS, 30_000);
  assert.deepEqual(nextStep(failed, { step: 6, now, random: 0 }), {
    next: "ended",
    ended: "exhausted",
  });
});

test("a forbidden address ends the delivery at once", () => {
  const outcome: Outcome = { kind: "forbidden", detail: "" };

  assert.deepEqual(nextStep(outcome, { step: 0, now, random: 0 }), {
    next: "ended",
    ended: "forbidden",
  });
});

test("a fault of ours is no attempt: it is tried again in 5 s, at any step", () => {
  for (const step of [0, 6]) {
    const next = nextStep({ kind: "our_fault", detail: "" }, { step, now, random: 0 });
    assert.deepEqual(next, { next: "not_tried", waitMs: 5_000 });
  }
});

const retryAfters: [header: string, lengthenedMs: number | null][] = [
  ["0", null],
  ["3", null],
  ["5", 5_000],
  ["7", 7_000],
  ["10", 10_000],
  ["11", 10_000],
  ["1000000000", 10_000],
  ["9".repeat(400), 10_000],
  ["Sun, 15 Nov 2026 09:30:08 GMT", 8_000],
  ["Sun, 15 Nov 2026 10:30:00 GMT", 10_000],
  ["Sun, 15 Nov 2020 09:30:08 GMT", null],
  ["Sunday, 15-Nov-26 09:30:08 GMT", 8_000],
  ["rubbish", null],
  ["", null],
  ["-7", null],
  ["7.5", null],
  ["1e9", null],
  ["2026-11-15T09:30:08Z", null],
  ["Infinity GMT", null],
];

for (const [header, lengthenedMs] of retryAfters) {
  test(`Retry-After ${header.slice(0, 40)} makes a wait of 5 s one of ${(lengthenedMs ?? 5_000) / 1_000} s`, () => {
    assert.equal(waitMs(answered(503, header)), lengthenedMs ?? waitMs(answered(503)));
  });
}

test("no Retry-After shortens a wait, or makes it longer than twice the planned one", () => {
  const header = fc.oneof(
    fc.string(),
    fc.nat().map(String),
    fc.date().map((date) => date.toUTCString()),
  );
  fc.assert(
    fc.property(header, fc.nat(5), (retryAfter, step) => {
      const planned = plannedMs[step] ?? 0;
      const wait = waitMs(answered(429, retryAfter), { step });

      assert.ok(wait >= waitMs(answered(429), { step }) && wait <= 2 * planned, `${wait}`);
    }),
  );
});

test("the jitter does not bring a delivery back before the time its receiver asked for", () => {
  assert.equal(waitMs(answered(503, "8"), { random: 0 }), 8_000);
  assert.equal(waitMs(answered(503, "4"), { random: 0 }), 4_000);
  assert.equal(waitMs(answered(503, "3600"), { random: 0 }), 10_000);
});

test("a delivery waits for an open host for 24 hours, not longer", () => {
  assert.equal(isTooOldToWait(new Date(now.getTime() - DAY_MS), now), false);
  assert.equal(isTooOldToWait(new Date(now.getTime() - DAY_MS - 1), now), true);
});
