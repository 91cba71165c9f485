import assert from "node:assert/strict";
import { test } from "node:test";

import { type ManualClock, manualClock } from "../../../test/support/manual-clock.ts";
import { Pace } from "./pace.ts";

/** A pace that always has something to send, and the times at which it sent. */
function busyPace(rate: number, { measured = 0 } = {}) {
  const clock = manualClock();
  const sentAtMs: number[] = [];
  const pace = new Pace(rate, { clock, measured: () => measured, onReady: send });

  function send(): void {
    const nowMs = clock.monotonicMs();
    let due = Math.min(pace.due(nowMs), 10_000);
    while (due >= 1) {
      pace.took(nowMs);
      sentAtMs.push(nowMs);
      due -= 1;
    }
    pace.wake(nowMs);
  }

  send();
  return { clock, pace, sentAtMs, send };
}

function countBetween(times: number[], fromMs: number, toMs: number): number {
  return times.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
}

for (const rate of [1, 7, 50, 333, 1000]) {
  test(`${rate} a second is kept within 2 % over ten seconds, and no 100 ms get more than their share`, () => {
    const { clock, sentAtMs } = busyPace(rate);

    clock.advance(10_000);

    const sent = countBetween(sentAtMs, 0, 10_000);
    assert.ok(Math.abs(sent - rate * 10) <= Math.max(1, rate * 0.2), `${sent} in ten seconds`);
    const share = Math.ceil(rate / 10);
    for (let slot = 0; slot < 10_000; slot += 100) {
      const inSlot = countBetween(sentAtMs, slot, slot + 100);
      assert.ok(inSlot <= share, `${inSlot} between ${slot} and ${slot + 100} ms`);
    }
  });
}

test("idle time earns no credit: after it one segment leaves, not a second's worth", () => {
  const { clock, pace } = busyPace(50);

  clock.advance(1);
  pace.stop();
  clock.advance(10_000);

  assert.equal(pace.due(clock.monotonicMs()), 1);
});

test("a late timer is made up for by no more than 20 ms' worth", () => {
  const clock = manualClock();
  const late = lateClock(clock, 500);
  let due = 0;
  const pace = new Pace(1000, {
    clock: late,
    measured: () => 0,
    onReady: () => (due = pace.due(late.monotonicMs())),
  });
  pace.took(pace.due(0));

  pace.wake(0);
  clock.advance(1000);

  assert.equal(due, 21);
});

test("two processes at half the rate each keep the rate together", () => {
  const [one, two] = [busyPace(25), busyPace(25)];

  for (const { clock } of [one, two]) clock.advance(10_000);

  const together = [...one.sentAtMs, ...two.sentAtMs];
  assert.equal(countBetween(together, 0, 10_000), 500);
});

test("no rate means no limit, until the carrier says that it is too much", () => {
  const { pace, clock } = busyPace(0, { measured: 80 });
  assert.equal(pace.due(0), Number.POSITIVE_INFINITY);

  clock.advance(10);
  pace.answered(5, true);
  clock.advance(1000);
  pace.answered(clock.monotonicMs(), false);

  assert.equal(pace.ahead(), 4, "half of what was measured, for a tenth of a second");
});

test("a throttling carrier is left alone for a second, then probed with one segment", () => {
  const { clock, pace, sentAtMs } = busyPace(50);
  clock.advance(1000);
  const before = sentAtMs.length;

  pace.answered(990, true);

  assert.equal(pace.ahead(), 0);
  clock.advance(999);
  assert.equal(sentAtMs.length, before, "nothing leaves in the pause");
  clock.advance(5000);
  assert.equal(sentAtMs.length, before + 1, "nothing more until the probe is answered");
});

test("after a good probe the rate starts at half and grows by a tenth a second to the agreed rate", () => {
  const { clock, pace, sentAtMs } = busyPace(50);
  clock.advance(1000);
  pace.answered(990, true);
  clock.advance(1000);
  const [probedAtMs] = sentAtMs.slice(-1) as [number];

  pace.answered(probedAtMs, false);
  clock.advance(10_000);

  const perSecond = [0, 1, 2, 3, 4, 5, 6].map((second) =>
    countBetween(sentAtMs, probedAtMs + 1 + second * 1000, probedAtMs + 1 + (second + 1) * 1000),
  );
  for (const [second, count] of perSecond.entries()) {
    const planned = Math.min(50, 25 + 5 * second);
    assert.ok(Math.abs(count - planned) <= 1, `${count} in second ${second}, planned ${planned}`);
  }
  assert.equal(pace.isThrottled, false);
});

test("a window full of throttled answers halves the rate once", () => {
  const { clock, pace } = busyPace(50);
  clock.advance(1000);

  for (const sentAt of [900, 920, 940, 960, 980]) pace.answered(sentAt, true);
  clock.advance(1000);
  pace.answered(clock.monotonicMs(), false);

  assert.equal(pace.ahead(), 2, "a tenth of 25");
});

test("an answer to a segment sent before the slowdown says nothing about the probe", () => {
  const { clock, pace, sentAtMs } = busyPace(50);
  clock.advance(1000);
  pace.answered(990, true);
  clock.advance(1000);

  const sent = sentAtMs.length;
  pace.answered(980, true);
  assert.equal(pace.ignored(970), true);
  assert.equal(sentAtMs.length, sent, "no second probe leaves");
  pace.answered(sentAtMs.at(-1) ?? 0, false);

  assert.equal(pace.ahead(), 2, "a tenth of 25, halved once");
});

test("a throttled probe halves the rate again, but never below one a second", () => {
  const { clock, pace, sentAtMs } = busyPace(4);
  clock.advance(1000);

  for (let round = 0; round < 5; round += 1) {
    pace.answered(sentAtMs.at(-1) ?? 0, true);
    clock.advance(1000);
  }
  pace.answered(sentAtMs.at(-1) ?? 0, false);
  const before = sentAtMs.length;
  clock.advance(1000);

  assert.equal(sentAtMs.length - before, 1);
});

test("a probe whose answer never comes ends the probing when it settles", () => {
  const { clock, pace, sentAtMs } = busyPace(50);
  clock.advance(1000);
  pace.answered(990, true);
  clock.advance(1000);

  pace.answered(sentAtMs.at(-1) ?? 0, false);

  assert.ok(pace.ahead() > 0);
});

test("a new share of the rate takes effect at once", () => {
  const { clock, pace, sentAtMs } = busyPace(10);

  pace.setRate(100);
  clock.advance(10_000);

  assert.ok(Math.abs(countBetween(sentAtMs, 0, 10_000) - 1000) <= 10);
});

for (const { what, rate, share, most } of [
  { what: "a smaller share of the rate holds at once", rate: 50, share: 10, most: 10 },
  { what: "having no agreed rate changes nothing", rate: 0, share: 0, most: 25 },
]) {
  test(`while the carrier is slowed down ${what}`, () => {
    const { clock, pace, sentAtMs } = busyPace(rate, { measured: 50 });
    clock.advance(4000);
    pace.answered(sentAtMs.at(-1) ?? 0, true);
    clock.advance(1000);
    pace.answered(sentAtMs.at(-1) ?? 0, false);
    const recoveringMs = clock.monotonicMs();

    pace.setRate(share);
    clock.advance(1000);

    assert.ok(countBetween(sentAtMs, recoveringMs + 1, recoveringMs + 1000) <= most);
  });
}

/** A clock whose timers fire late by that much. */
function lateClock(clock: ManualClock, lateMs: number): ManualClock {
  return { ...clock, timer: (ms, run) => clock.timer(ms + lateMs, run) };
}
