import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../../test/support/manual-clock.ts";
import { until } from "../../test/support/until.ts";
import { type Log, silentLog } from "./log.ts";
import { type Loop, runLoop } from "./loop.ts";

/** A loop whose passes return the test's answers, one after the other. */
function scripted(answers: (number | Error)[]) {
  const seen: AbortSignal[] = [];
  const loop: Loop = {
    name: "test loop",
    idleMs: 1_000,
    pass(signal) {
      seen.push(signal);
      const answer = answers.shift() ?? 0;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  return { loop, seen };
}

test("a pass that found work is followed by another at once, one that found none by a rest", async () => {
  const clock = manualClock();
  const { loop, seen } = scripted([3, 1, 0]);
  const running = runLoop(loop, { clock, log: silentLog });

  await until("the loop rests", () => clock.waiting() === 1);
  assert.equal(seen.length, 3);
  clock.advance(999);
  assert.equal(seen.length, 3);
  clock.advance(1);
  await until("the next pass ran", () => seen.length === 4);

  await running.stop();
});

test("a wake ends the rest, and one during a pass skips the rest after it", async () => {
  const clock = manualClock();
  let passes = 0;
  const pass = () => {
    passes += 1;
    if (passes === 2) running.wake();
    return Promise.resolve(0);
  };
  const running = runLoop({ name: "waking loop", idleMs: 1_000, pass }, { clock, log: silentLog });
  await until("the loop rests", () => clock.waiting() === 1);
  assert.equal(passes, 1);

  running.wake();
  await until("it was woken, and again amid its pass", () => passes === 3);

  await running.stop();
});

for (const [kind, fail] of Object.entries({
  rejects: () => Promise.reject(new Error("no database")),
  throws: () => {
    throw new Error("no database");
  },
})) {
  test(`a pass that ${kind} is logged once and followed by a rest; the loop goes on`, async () => {
    const clock = manualClock();
    const logged: string[] = [];
    const log: Log = { ...silentLog, error: (_fields, sentence) => logged.push(sentence) };
    let passes = 0;
    const pass = () => {
      passes += 1;
      if (passes > 1) return Promise.resolve(0);
      // Whatever woke it would fail again at once.
      queueMicrotask(() => running.wake());
      return fail();
    };
    const running = runLoop({ name: "shaky loop", idleMs: 1_000, pass }, { clock, log });

    await until("the loop rests", () => clock.waiting() === 1);
    assert.deepEqual(logged, ["shaky loop failed; it goes on after a rest"]);
    assert.equal(passes, 1);
    clock.advance(1_000);
    await until("it goes on", () => passes === 2);

    await running.stop();
  });
}

test("a stop waits for the pass in progress and notifies it by its signal", async () => {
  const clock = manualClock();
  let end: (found: number) => void = () => {};
  let signal: AbortSignal | undefined;
  const pass = (given: AbortSignal) => {
    signal = given;
    return new Promise<number>((resolve) => (end = resolve));
  };
  const running = runLoop({ name: "long pass", idleMs: 1_000, pass }, { clock, log: silentLog });
  let isStopped = false;

  const stopped = running.stop().then(() => (isStopped = true));
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(signal?.aborted, true);
  assert.equal(isStopped, false);
  end(0);
  await stopped;

  assert.equal(clock.waiting(), 0, "and rests no more");
});

test("a stop ends a rest at once, and no pass follows", async () => {
  const clock = manualClock();
  const { loop, seen } = scripted([]);
  const running = runLoop(loop, { clock, log: silentLog });
  await until("the loop rests", () => clock.waiting() === 1);

  await running.stop();

  assert.equal(seen.length, 1);
});
