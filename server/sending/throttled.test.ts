import assert from "node:assert/strict";
import { test } from "node:test";
import type { SubmitOutcome } from "#carriers";
import { throttleWatch } from "./throttled.ts";

const refusal = { kind: "refused", temporary: true, code: "EXPIRED", carrierCode: "0x58" } as const;
const throttled: SubmitOutcome = { ...refusal, throttled: true };
const accepted: SubmitOutcome = { kind: "accepted", carrierMessageId: "1", matchId: "1" };

test("one that is throttled alone makes way now and then, so that another is tried", () => {
  const watch = throttleWatch();
  const ways = Array.from({ length: 10 }, () => watch.note("one", throttled)?.makesWay);
  assert.deepEqual(
    ways.flatMap((makesWay, n) => (makesWay ? [n + 1] : [])),
    [5, 10],
  );
});

test("among many that are throttled the oldest keeps its place for long", () => {
  const watch = throttleWatch();
  for (const other of ["two", "three"]) watch.note(other, throttled);
  const ways = Array.from({ length: 40 }, () => watch.note("one", throttled));
  assert.deepEqual(
    ways.flatMap((way, n) => (way?.makesWay ? [n + 1] : [])),
    [30],
  );
  assert.ok(ways.every((way) => way?.overtaken === 0));
});

test("one is overtaken once more each time that others got through since it was throttled last", () => {
  const watch = throttleWatch();
  const overtaken = [0, 1, 2].map((others) => {
    for (let n = 0; n < others; n += 1) watch.note(`other ${n}`, accepted);
    return [watch.note("one", throttled), watch.note("one", throttled)].map(
      (each) => each?.overtaken,
    );
  });
  assert.deepEqual(overtaken, [
    [0, 0],
    [1, 0],
    [2, 0],
  ]);
});

test("what got through itself begins anew", () => {
  const watch = throttleWatch();
  watch.note("one", throttled);
  watch.note("two", accepted);
  watch.note("one", accepted);
  assert.deepEqual(watch.note("one", throttled), { overtaken: 0, makesWay: false });
});
