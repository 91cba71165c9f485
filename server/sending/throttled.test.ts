import assert from "node:assert/strict";
import { test } from "node:test";
import type { SubmitOutcome } from "#carriers";
import { throttleWatch } from "./throttled.ts";

const refusal = { kind: "refused", temporary: true, code: "EXPIRED", carrierCode: "0x58" } as const;
const throttled: SubmitOutcome = { ...refusal, throttled: true };
const accepted: SubmitOutcome = { kind: "accepted", carrierMessageId: "1", matchId: "1" };

/** A second passes between any two answers. */
function watching() {
  let nowMs = 0;
  const watch = throttleWatch({ monotonicMs: () => (nowMs += 1_000) });
  const waits = (tries: number) =>
    Array.from({ length: tries }, () => watch.note("one", throttled));
  return { watch, waits, after: (ms: number) => (nowMs += ms) };
}

test("a message throttled alone keeps its place for some tries, then waits a fifth of the time it has taken", () => {
  const { waits, after } = watching();
  assert.deepEqual(waits(8), [0, 0, 0, 0, 0, 1_000, 1_200, 1_400]);
  after(22_000);
  assert.deepEqual(waits(1), [6_000]);
  after(3_600_000);
  assert.deepEqual(waits(1), [60_000]);
});

test("among many throttled messages the oldest keeps its place for longer", () => {
  const { watch, waits } = watching();
  for (const other of ["two", "three"]) watch.note(other, throttled);
  assert.deepEqual(
    waits(11).map((waitMs) => waitMs > 0),
    [...Array.from({ length: 10 }, () => false), true],
  );
});

test("a message that others overtake waits twice as long each time, so that it slows them less", () => {
  const { watch, waits } = watching();
  waits(5);
  const overtaken = Array.from({ length: 10 }, () => {
    watch.note("two", accepted);
    return watch.note("one", throttled);
  });
  assert.deepEqual(
    overtaken,
    [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000],
  );
});

test("a message that got through starts afresh", () => {
  const { watch, waits } = watching();
  waits(7);
  watch.note("one", accepted);
  assert.deepEqual(waits(2), [0, 0]);
});

test("a message is overtaken if others got through twice in a row after it was throttled", () => {
  const { watch, waits } = watching();
  const seen = [watch.isOvertaken("one")];
  waits(1);
  seen.push(watch.isOvertaken("one"));
  watch.note("two", accepted);
  seen.push(watch.isOvertaken("one"));
  waits(1);
  watch.note("two", accepted);
  seen.push(watch.isOvertaken("one"), watch.isOvertaken("three"));
  waits(2);
  watch.note("two", accepted);
  seen.push(watch.isOvertaken("one"));
  assert.deepEqual(seen, [false, false, false, true, false, false]);
});
