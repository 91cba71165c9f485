import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { manualClock } from "../../test/support/manual-clock.ts";
import { batcher, type Batcher, orEach } from "./batcher.ts";
import { takeTurns } from "./turns.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** Two turns: after the second, whatever the callbacks of the first scheduled has run too. */
const turn = async () => {
  for (let n = 0; n < 2; n += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};
const limits = { maxItems: 100, maxRunning: 1, maxWaiting: 100 };
const whenFull = () => -1;

/** Batches that end when the test says so. `end` answers each item with its double. */
function heldBatches() {
  const batches: { items: number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const run = (items: number[]) =>
    new Promise<number[]>((resolve, reject) => {
      batches.push({ items, end: () => resolve(items.map((item) => item * 2)), fail: reject });
    });
  return { batches, run };
}

test("an item that fails its batch fails alone; the others are run once more, in order", async () => {
  const ran: number[][] = [];
  const splits: unknown[] = [];
  const poison = new Error("poison");
  const run = async (items: number[]) => {
    ran.push(items);
    if (items.includes(2)) throw poison;
    return items.map(String);
  };

  const results = await orEach([1, 2, 3], run, (error) => splits.push(error));

  assert.deepEqual(results, ["1", poison, "3"]);
  assert.deepEqual(ran, [[1, 2, 3], [1], [2], [3]]);
  assert.deepEqual(splits, [poison], "told once");
});

test("if the database is away a batch fails whole, and nothing is tried alone", async () => {
  const away = new DatabaseUnavailable("away");
  let runs = 0;
  const run = () => {
    runs += 1;
    return Promise.reject(away);
  };

  await assert.rejects(
    orEach([1, 2], run, () => assert.fail("it was split")),
    away,
  );

  assert.equal(runs, 1);
});

test("a lone call starts at once and gets its own answer", async () => {
  const sizes: number[] = [];
  const call = batcher<number, number>({
    ...limits,
    whenFull,
    run: (items) => (sizes.push(items.length), Promise.resolve(items.map((item) => item + 1))),
  });

  assert.equal(await call(1), 2);
  assert.equal(await call(2), 3);
  assert.deepEqual(sizes, [1, 1]);
});

test("calls of one turn form one batch; those that arrive while it runs form the next one", async () => {
  const { batches, run } = heldBatches();
  const call = batcher<number, number>({ ...limits, whenFull, run });
  const first = [call(1), call(2)];
  await turn();

  const second = [call(3), call(4), call(5)];
  await turn();
  assert.deepEqual(
    batches.map(({ items }) => items),
    [[1, 2]],
    "none joins what was sent",
  );
  assert.equal(call.waiting, 3);
  batches[0]?.end();
  assert.deepEqual(await Promise.all(first), [2, 4]);
  await turn();
  batches[1]?.end();

  assert.deepEqual(await Promise.all(second), [6, 8, 10]);
  assert.deepEqual(
    batches.map(({ items }) => items),
    [
      [1, 2],
      [3, 4, 5],
    ],
  );
});

test("waiting calls are on their way before the previous batch is answered", async () => {
  const { batches, run } = heldBatches();
  const call = batcher<number, number>({ ...limits, whenFull, run });
  const first = call(1).then(() => batches.length);
  await turn();
  const second = call(2);

  batches[0]?.end();
  assert.equal(await first, 2);
  batches[1]?.end();
  await second;
});

test("batchers that take turns begin one batch at a time, and each takes all that waits by then", async () => {
  const { batches, run } = heldBatches();
  const turns = takeTurns(manualClock(), 25);
  const [left, right] = [0, 1].map(() =>
    batcher<number, number>({ ...limits, whenFull, run, turns }),
  ) as [Batcher<number, number>, Batcher<number, number>];
  const answers = [left(1)];
  await turn();
  answers.push(left(2), right(3));
  await turn();
  answers.push(right(4));

  for (let n = 0; n < 3; n += 1) {
    assert.equal(batches.length, n + 1);
    batches[n]?.end();
    await turn();
  }

  assert.deepEqual(await Promise.all(answers), [2, 4, 6, 8]);
  assert.deepEqual(
    batches.map(({ items }) => items),
    [[1], [3, 4], [2]],
  );
});

test("batchers that take turns wait for a smaller batch of another, but not for a large one", async () => {
  const { batches, run } = heldBatches();
  const turns = takeTurns(manualClock(), 25);
  const [left, right] = [0, 1].map(() =>
    batcher<number, number>({
      ...limits,
      whenFull,
      run,
      turns,
      sizeOf: (size) => size,
      largeFrom: 5,
    }),
  ) as [Batcher<number, number>, Batcher<number, number>];

  const answers = [left(2), left(3)];
  await turn();
  answers.push(right(4));
  await turn();
  assert.deepEqual(
    batches.map(({ items }) => items),
    [[2, 3], [4]],
  );

  answers.push(left(1));
  batches[0]?.end();
  await turn();
  assert.equal(batches.length, 2);
  batches[1]?.end();
  await turn();
  batches[2]?.end();
  assert.deepEqual(await Promise.all(answers), [4, 6, 8, 2]);
});

test("a full queue answers at once instead of growing", async () => {
  const { batches, run } = heldBatches();
  const call = batcher<number, number>({ ...limits, maxWaiting: 2, whenFull, run });
  const running = call(0);
  await turn();

  const waiting = [call(1), call(2)];
  assert.equal(await call(3), -1);
  batches[0]?.end();
  await running;
  await turn();
  batches[1]?.end();

  assert.deepEqual(await Promise.all(waiting), [2, 4]);
});

test("bytes that wait and run are bounded together; a lone giant still passes", async () => {
  const { batches, run } = heldBatches();
  const call = batcher<number, number>({
    ...limits,
    maxBytes: 10,
    bytesOf: (item) => item,
    whenFull,
    run,
  });
  const giant = call(50);
  await turn();

  assert.equal(await call(1), -1);
  batches[0]?.end();
  assert.equal(await giant, 100);
  await turn();
  const next = [call(6), call(4)];
  assert.equal(await call(1), -1);
  await turn();
  batches[1]?.end();

  assert.deepEqual(await Promise.all(next), [12, 8]);
});

test("one bad item fails alone", async () => {
  const bad = new Error("bad item");
  const call = batcher<number, number>({
    ...limits,
    whenFull,
    run: (items) => Promise.resolve(items.map((item) => (item === 2 ? bad : item))),
  });

  const answers = await Promise.allSettled([call(1), call(2), call(3)]);

  assert.deepEqual(answers, [
    { status: "fulfilled", value: 1 },
    { status: "rejected", reason: bad },
    { status: "fulfilled", value: 3 },
  ]);
});

test("a failed batch fails all its items with the cause, and the next one runs", async () => {
  const cause = new Error("database away");
  let isAway = true;
  const call = batcher<number, number>({
    ...limits,
    whenFull,
    run(items) {
      if (isAway) throw cause;
      return Promise.resolve(items);
    },
  });

  const answers = await Promise.allSettled([call(1), call(2)]);
  isAway = false;

  assert.deepEqual(answers, [
    { status: "rejected", reason: cause },
    { status: "rejected", reason: cause },
  ]);
  assert.equal(await call(3), 3);
});

test("a batch answered with too few results fails, rather than mixing them up", async () => {
  const call = batcher<number, number>({ ...limits, whenFull, run: () => Promise.resolve([1]) });

  await assert.rejects(Promise.all([call(1), call(2)]), /2 items was answered with 1 results/);
});

test("idle resolves when nothing waits and nothing runs", async () => {
  const { batches, run } = heldBatches();
  const call = batcher<number, number>({ ...limits, whenFull, run });
  await call.idle();
  const answers = [call(1)];
  await turn();
  answers.push(call(2));
  let isIdle = false;
  const idle = call.idle().then(() => (isIdle = true));

  batches[0]?.end();
  await turn();
  assert.equal(isIdle, false);
  batches[1]?.end();

  await Promise.all([...answers, idle]);
});

/** What a test does next: calls arrive, a running batch ends or fails, or time passes. */
type Step = { kind: "call"; size: number; bytes: number } | { kind: "end" | "fail" | "turn" };
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("call" as const),
      size: fc.integer({ min: 1, max: 12 }),
      bytes: fc.nat(40),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("end" as const, "turn" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const) }) },
);
const bounds = fc.record({
  maxItems: fc.integer({ min: 1, max: 10 }),
  maxRunning: fc.integer({ min: 1, max: 3 }),
  maxWaiting: fc.integer({ min: 1, max: 12 }),
  maxBytes: fc.integer({ min: 1, max: 200 }),
});

test("in any order of events, every call is answered once and no bound is exceeded", async () => {
  await fc.assert(
    fc.asyncProperty(bounds, fc.array(step, { maxLength: 60 }), async (bounds, steps) => {
      await live(bounds, steps);
    }),
    { numRuns: 300 },
  );
});

type Item = { id: number; size: number; bytes: number };
type Running = { items: Item[]; resolve: (ids: number[]) => void; reject: (error: Error) => void };

async function live(
  {
    maxItems,
    maxRunning,
    maxWaiting,
    maxBytes,
  }: { maxItems: number; maxRunning: number; maxWaiting: number; maxBytes: number },
  steps: Step[],
): Promise<void> {
  const running: Running[] = [];
  const started: number[] = [];
  const answers: Promise<number | string>[] = [];
  const failed = new Set<number>();
  const held = new Set<Item>();
  const call = batcher<Item, number>({
    run: (items) =>
      new Promise((resolve, reject) => {
        const size = items.reduce((sum, item) => sum + item.size, 0);
        assert.ok(size <= maxItems || items.length === 1, "a batch is too large");
        started.push(...items.map(({ id }) => id));
        running.push({ items, resolve, reject });
        assert.ok(running.length <= maxRunning, "too many batches run");
      }),
    whenFull: () => -1,
    maxItems,
    maxRunning,
    maxWaiting,
    maxBytes,
    sizeOf: ({ size }) => size,
    bytesOf: ({ bytes }) => bytes,
  });
  const finish = (isFailing: boolean) => {
    const batch = running.shift();
    if (!batch) return;
    for (const item of batch.items) if (isFailing) failed.add(item.id);
    if (isFailing) batch.reject(new Error("failed"));
    else batch.resolve(batch.items.map(({ id }) => id));
  };
  for (const [id, step] of steps.entries()) {
    if (step.kind === "call") {
      const item = { id, size: step.size, bytes: step.bytes };
      held.add(item);
      const answer = call(item).catch((error: Error) => error.message);
      const named = answer.then((given) => {
        held.delete(item);
        if (given === -1) return "full";
        assert.equal(given, failed.has(id) ? "failed" : id, "another's answer");
        return given;
      });
      answers.push(named);
      assert.ok(call.waiting <= maxWaiting, "too many wait");
    } else if (step.kind === "turn") {
      await turn();
      const bytes = [...held].map((item) => item.bytes);
      const sum = bytes.reduce((a, b) => a + b, 0);
      assert.ok(sum <= Math.max(maxBytes, ...bytes), "too much is held");
    } else finish(step.kind === "fail");
  }
  while (call.waiting > 0 || running.length > 0) {
    await turn();
    finish(false);
  }
  await call.idle();
  const settled = await Promise.all(answers);
  const refused = settled.filter((answer) => answer === "full").length;
  assert.equal(started.length, settled.length - refused, "each is started once or refused");
  assert.deepEqual(
    started,
    started.toSorted((a, b) => a - b),
    "in the order of arrival",
  );
}
