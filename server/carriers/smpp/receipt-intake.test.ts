import assert from "node:assert/strict";
import { test } from "node:test";

import type { Receipt } from "#carriers";
import { silentLog } from "#platform";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { sinkOf } from "../../../test/support/smpp.ts";
import { until } from "../../../test/support/until.ts";
import { ReceiptIntake } from "./receipt-intake.ts";

const receipt: Receipt = {
  carrierId: "carrier-1",
  carrierMessageIds: ["1"],
  state: "DELIVRD",
  effect: "delivered",
  errorCode: null,
  carrierCode: "000",
  recipient: "4915112345678",
  raw: null,
};

const TEMPORARY = 0x64;

function intakeWith(...sink: Parameters<typeof sinkOf>) {
  const clock = manualClock();
  const pauses: string[] = [];
  const answers: number[] = [];
  const intake = new ReceiptIntake({
    carrier: "acme",
    sink: sinkOf(...sink),
    clock,
    log: silentLog,
    onFull: () => pauses.push("full"),
    onRelieved: () => pauses.push("relieved"),
  });
  return {
    clock,
    intake,
    answers,
    pauses,
    take: (count: number) => {
      for (let i = 0; i < count; i += 1) {
        intake.take({ ...receipt }, (code) => answers.push(code), clock.monotonicMs());
      }
    },
  };
}

test("a receipt is answered after it is stored, and not before", async () => {
  const stored = Promise.withResolvers<void>();
  const { answers, intake, take } = intakeWith(() => stored.promise);

  take(1);
  await new Promise(setImmediate);
  assert.deepEqual(answers, []);
  stored.resolve();
  await intake.settled();

  assert.deepEqual(answers, [0]);
});

test("receipts that arrive while a batch commits are the next batch, of at most 2,000", async () => {
  const batches: number[] = [];
  const first = Promise.withResolvers<void>();
  const { intake, take } = intakeWith(async (batch) => {
    batches.push(batch.length);
    if (batches.length === 1) await first.promise;
  });

  take(3);
  await until("the first batch is on its way", () => batches.length === 1);
  take(2200);
  first.resolve();
  await intake.settled();

  assert.deepEqual(batches, [3, 2000, 200]);
});

test("a receipt that could not be stored is tried again, and then answered", async () => {
  let tries = 0;
  const { answers, clock, intake, take } = intakeWith(async () => {
    tries += 1;
    if (tries < 3) throw new Error("the database is away");
  });

  take(2);
  while (intake.held > 0) {
    clock.advance(250);
    await new Promise(setImmediate);
  }

  assert.equal(tries, 3);
  assert.deepEqual(answers, [0, 0]);
});

test("if a batch is stored in part, only the rest is asked for again, and nothing is stored twice", async () => {
  let batches = 0;
  const { answers, intake, take } = intakeWith(async (batch) => {
    batches += 1;
    return batch.slice(1, 2);
  });

  take(3);
  await intake.settled();

  assert.deepEqual(answers, [0, TEMPORARY, 0]);
  assert.equal(batches, 1);
});

test("waiting for the receipts in hand to be answered does not wait for those that come later", async () => {
  let come = 0;
  const { intake, take } = intakeWith(async () => {
    await new Promise(setImmediate);
    if (++come < 100) take(1);
  });

  take(1);
  await intake.settled();

  assert.ok(come < 100, "others still come");
});

test("after five seconds without a database the carrier is asked to repeat each receipt once", async () => {
  const { answers, clock, intake, take } = intakeWith(() => Promise.reject(new Error("away")));

  take(3);
  for (let waitedMs = 0; waitedMs < 4900; waitedMs += 100) {
    clock.advance(100);
    await new Promise(setImmediate);
  }
  assert.deepEqual(answers, []);
  for (let waitedMs = 0; waitedMs < 1000; waitedMs += 100) {
    clock.advance(100);
    await new Promise(setImmediate);
  }

  assert.deepEqual(answers, [TEMPORARY, TEMPORARY, TEMPORARY]);
  assert.equal(intake.held, 0);
});

test("a sink that hangs holds no receipt longer than five seconds, and a late commit answers nothing twice", async () => {
  const hanging = Promise.withResolvers<void>();
  const { answers, clock, intake, take } = intakeWith(() => hanging.promise);
  take(2);
  await new Promise(setImmediate);
  take(2);
  const settled = intake.settled();

  clock.advance(5000);
  assert.deepEqual(answers, [TEMPORARY, TEMPORARY, TEMPORARY, TEMPORARY]);
  await settled;
  hanging.resolve();
  await intake.settled();

  assert.equal(answers.length, 4);
});

test("while a sink stores, however slowly, only receipts waiting for 15 s are asked for again, never stored ones", async () => {
  const stored: Receipt[] = [];
  let storedAtMs = 0;
  const { answers, clock, intake, take } = intakeWith(
    async (batch) => {
      for (const _others of [1, 2]) {
        await clock.sleep(3000);
        storedAtMs = clock.monotonicMs();
      }
      stored.push(...batch);
    },
    () => storedAtMs,
  );

  take(4500);
  await new Promise(setImmediate);
  take(2000);
  while (intake.held > 0) {
    clock.advance(250);
    await new Promise(setImmediate);
    assert.ok(clock.monotonicMs() > 14_000 || answers.every((code) => code === 0));
  }

  assert.equal(stored.length, 6000, "three batches in 18 s");
  assert.deepEqual(Map.groupBy(answers, Number).get(TEMPORARY)?.length, 500);
});

test("with 5,000 receipts held the carrier is not read from, and with half of them stored it is again", async () => {
  const atBatches: (string | undefined)[] = [];
  const { intake, pauses, take } = intakeWith(async () => void atBatches.push(pauses.at(-1)));

  take(5000);
  await intake.settled();

  assert.deepEqual(atBatches, ["full", "full", "relieved"]);
});

test("a receipt that comes at the very moment a batch ends is stored too", async () => {
  let batches = 0;
  const { answers, intake, take } = intakeWith(async () => {
    batches += 1;
    if (batches === 1) queueMicrotask(() => queueMicrotask(() => take(1)));
  });

  take(1);
  await until("both are answered", () => answers.length === 2 && intake.held === 0);
});
