import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#platform";
import {
  capOf,
  type AttemptResult,
  type Health,
  healthNow,
  type LaneHealth,
  learn,
  newHealth,
  recallHealth,
} from "./lane-health.ts";
import type { Outcome } from "./outcome.ts";

const ok: Outcome = { kind: "answered", status: 200, retryAfter: null };
const broken: Outcome = { kind: "answered", status: 500, retryAfter: null };
const refused: Outcome = { kind: "failed", class: "connect_refused", detail: "" };
const late: Outcome = { kind: "failed", class: "timeout", detail: "" };
const lateConnect: Outcome = { kind: "failed", class: "connect_timeout", detail: "" };

type World = { lane: LaneHealth; nowMs: number };

/** Makes attempts one after another, each taking its duration. */
function live(world: World, attempts: AttemptResult[], random = 0.5): World {
  return attempts.reduce(({ lane, nowMs }, ended) => {
    const ms = nowMs + ended.durationMs;
    return { lane: learn(lane, ended, { ms, random }), nowMs: ms };
  }, world);
}

function times(count: number, outcome: Outcome, durationMs: number): AttemptResult[] {
  return Array.from({ length: count }, () => ({ outcome, durationMs }));
}

function fresh(): World {
  return { lane: newHealth(0), nowMs: 0 };
}

function seen(...attempts: AttemptResult[][]): { health: string; cap: number } {
  const { lane, nowMs } = live(fresh(), attempts.flat());
  return { health: healthNow(lane, nowMs), cap: capOf(lane, nowMs) };
}

test("a lane of which nothing is known has two slots, and one fast success gives it eight", () => {
  assert.deepEqual(seen(), { health: "unproven", cap: 2 });
  assert.deepEqual(seen(times(1, ok, 2_999)), { health: "proven", cap: 8 });
});

test("a success that is not fast proves nothing", () => {
  assert.deepEqual(seen(times(1, ok, 3_000)), { health: "unproven", cap: 2 });
});

test("each fast success adds a slot, up to 32", () => {
  assert.equal(seen(times(11, ok, 10)).cap, 18);
  assert.equal(seen(times(100, ok, 10)).cap, 32);
});

test("a failure halves the slots, to no less than two", () => {
  assert.equal(seen(times(100, ok, 10), times(1, broken, 10)).cap, 16);
  assert.equal(seen(times(100, ok, 10), times(3, refused, 10)).cap, 4);
  assert.equal(seen(times(1, ok, 10), times(4, refused, 10)).cap, 2);
});

test("five quick failures in a row make a lane failing, one success makes it proven again", () => {
  assert.equal(seen(times(9, ok, 10), times(4, broken, 10)).health, "proven");
  assert.deepEqual(seen(times(9, ok, 10), times(5, broken, 10)), { health: "failing", cap: 2 });
  const mended = seen(times(9, ok, 10), times(50, broken, 10), times(1, ok, 10));
  assert.deepEqual(mended, { health: "proven", cap: 8 });
});

test("quick failures never open a lane: they cost nothing, so the schedule is kept", () => {
  assert.deepEqual(seen(times(1_000, refused, 5)), { health: "failing", cap: 2 });
});

test("three time-outs in a row make a lane slow", () => {
  assert.equal(seen(times(30, ok, 10), times(1, late, 10_000)).health, "proven");
  assert.deepEqual(seen(times(30, ok, 10), times(3, late, 10_000)), { health: "slow", cap: 2 });
  assert.deepEqual(seen(times(30, ok, 10), times(3, lateConnect, 3_000)), {
    health: "slow",
    cap: 2,
  });
});

test("answers that take more than 3 s on average make a lane slow, even good ones", () => {
  assert.deepEqual(seen(times(30, ok, 10), times(30, ok, 4_000)), { health: "slow", cap: 2 });
  assert.equal(seen(times(30, ok, 4_000), times(30, ok, 10)).health, "proven");
});

test("ten time-outs in a row open a lane: nothing goes out but a probe after 30 s", () => {
  const { lane, nowMs } = live(fresh(), times(10, late, 10_000));

  assert.equal(healthNow(lane, nowMs), "open");
  assert.equal(capOf(lane, nowMs + 29_999), 0);
  assert.equal(capOf(lane, nowMs + 30_000), 1);
});

test("the wait for a probe doubles with each probe that fails, up to 15 minutes", () => {
  let world = live(fresh(), times(10, late, 10_000));
  const waits = [];
  for (let n = 0; n < 8; n += 1) {
    waits.push(world.lane.probeAtMs - world.nowMs);
    world = live({ ...world, nowMs: world.lane.probeAtMs }, times(1, late, 10_000));
  }

  assert.deepEqual(waits, [30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000, 900_000]);
});

test("probes are spread by a fifth either way", () => {
  const early = live(fresh(), times(10, late, 10_000), 0);
  const latest = live(fresh(), times(10, late, 10_000), 1);

  assert.equal(early.lane.probeAtMs - early.nowMs, 24_000);
  assert.equal(latest.lane.probeAtMs - latest.nowMs, 36_000);
});

test("time-outs that began before the lane was open do not make the wait longer", () => {
  const { lane, nowMs } = live(fresh(), times(10, late, 10_000));

  const after = learn(
    lane,
    { outcome: late, durationMs: 10_000 },
    { ms: nowMs + 5_000, random: 0.5 },
  );

  assert.equal(after.probeAtMs, lane.probeAtMs);
});

test("one success leads an open lane back to slow, more of them to proven", () => {
  const open = times(10, late, 10_000);

  assert.deepEqual(seen(open, times(1, ok, 10)), { health: "slow", cap: 2 });
  assert.deepEqual(seen(open, times(9, ok, 10)).health, "proven");
  // These time out so fast that the average was never slow.
  const unreached = times(10, lateConnect, 2_000);
  assert.deepEqual(seen(unreached, times(1, ok, 10)), { health: "slow", cap: 2 });
  assert.deepEqual(seen(unreached, times(2, ok, 10)), { health: "proven", cap: 8 });
});

test("a lane is proven for a day after its last fast success", () => {
  const { lane, nowMs } = live(fresh(), times(9, ok, 10));

  assert.equal(healthNow(lane, nowMs + DAY_MS - 1), "proven");
  assert.equal(healthNow(lane, nowMs + DAY_MS), "unproven");
  assert.equal(capOf(lane, nowMs + DAY_MS), 2);
});

test("faults of ours and forbidden addresses say nothing about a host", () => {
  const { lane } = live(fresh(), times(9, ok, 10));

  for (const kind of ["our_fault", "forbidden"] as const) {
    const after = learn(
      lane,
      { outcome: { kind, detail: "" }, durationMs: 10_000 },
      { ms: 99_999, random: 0 },
    );
    assert.equal(after, lane);
  }
});

test("a start keeps what was known of a host, and probes a dead one once within half a minute", () => {
  const now = { ms: DAY_MS, random: 0.5 };
  const recalled = (health: Health, lastOkAgoMs: number | null = null) =>
    recallHealth({ health, lastOkAgoMs }, now);

  assert.equal(healthNow(recalled("proven", 60_000), now.ms), "proven");
  assert.equal(healthNow(recalled("proven", DAY_MS), now.ms), "unproven");
  assert.equal(capOf(recalled("slow"), now.ms), 2);
  assert.equal(capOf(recalled("open"), now.ms), 0);
  assert.equal(capOf(recalled("open"), now.ms + 30_000), 1);
});

test("a host that was failing is still failing after a start, until a success", () => {
  const recalled = recallHealth({ health: "failing", lastOkAgoMs: 60_000 }, { ms: 0, random: 0.5 });
  const after = (outcome: Outcome) =>
    healthNow(live({ lane: recalled, nowMs: 0 }, times(1, outcome, 10)).lane, 10);

  assert.deepEqual([healthNow(recalled, 0), capOf(recalled, 0)], ["failing", 2]);
  assert.deepEqual([after(broken), after(ok)], ["failing", "proven"]);
});
