import assert from "node:assert/strict";
import { test } from "node:test";
import type { SubmitOutcome } from "#carriers";
import { nextStep, type StepContext } from "./next-step.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

const context: StepContext = {
  carrierId: "first",
  inDoubt: "resend",
  route: ["first"],
  attempt: 1,
  doubts: 0,
  isBegun: false,
  isKept: false,
  throttledMs: 0,
  now: NOW,
  expiresAt: new Date(NOW.getTime() + 86_400_000),
};

const busy = { kind: "refused", temporary: true, code: "EXPIRED", carrierCode: "0x08" } as const;
const refused: SubmitOutcome = { ...busy, throttled: false };
const throttled: SubmitOutcome = { ...busy, throttled: true };

function delayMs(answer: SubmitOutcome, given: Partial<StepContext> = {}): number {
  const step = nextStep(answer, { ...context, ...given });
  return step.next === "again" ? step.delayMs : assert.fail(`it is ${step.next}`);
}

test("a message that is throttled, in doubt or unsent goes back to its place", () => {
  const answers: SubmitOutcome[] = [
    throttled,
    { kind: "in_doubt", why: "timeout" },
    { kind: "unsent" },
  ];
  assert.deepEqual(
    answers.map((answer) => delayMs(answer)),
    [0, 0, 0],
  );
});

test("an unsent message goes to the next carrier, but stays if only we held it back", () => {
  const carriers = [false, true].map((isKept) => {
    const step = nextStep({ kind: "unsent" }, { ...context, route: ["first", "second"], isKept });
    return step.next === "again" && step.carrierId;
  });
  assert.deepEqual(carriers, ["second", "first"]);
});

test("a message unsent by the end of its validity has expired, whoever held it back", () => {
  const steps = [false, true].map((isKept) =>
    nextStep({ kind: "unsent" }, { ...context, isKept, expiresAt: NOW }),
  );
  const expired = { next: "fail", code: "EXPIRED", carrierCode: null };
  assert.deepEqual(steps, [expired, expired]);
});

test("a throttled message waits as long as it is told, however often it was tried", () => {
  const delays = [0, 700].map((throttledMs) => delayMs(throttled, { attempt: 30, throttledMs }));
  assert.deepEqual(delays, [0, 700]);
});

test("other temporary refusals wait longer each time, a minute at most", () => {
  const delays = [1, 2, 3, 30].map((attempt) => delayMs(refused, { attempt }));
  assert.deepEqual(delays, [500, 1_000, 2_000, 60_000]);
});

test("a refused message goes to each carrier of its route in turn, and waits once all have been tried", () => {
  const route = ["first", "second", "third"];
  const steps = route.map((carrierId, position) =>
    nextStep(refused, { ...context, route, carrierId, attempt: position + 1 }),
  );
  assert.deepEqual(steps, [
    { next: "again", delayMs: 0, carrierId: "second" },
    { next: "again", delayMs: 0, carrierId: "third" },
    { next: "again", delayMs: 500, carrierId: "first" },
  ]);
});

test("the last try is a second before the message expires, and one refused after that waits for the end", () => {
  const waits = (leftMs: number) =>
    delayMs(refused, { attempt: 30, expiresAt: new Date(NOW.getTime() + leftMs) });
  assert.deepEqual(
    [61_001, 60_999, 1_500, 1_000, 400, -5].map(waits),
    [60_000, 59_999, 500, 1_000, 400, 0],
  );
});
