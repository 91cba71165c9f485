import assert from "node:assert/strict";
import { test } from "node:test";
import type { Carrier } from "#carriers";
import type { MessageRow } from "#messages";
import { type Clock, newId, silentLog, systemClock } from "#platform";
import { absentDatabase, recorderOf } from "../../test/support/recorder.ts";
import { eventually } from "../../test/support/eventually.ts";
import { runCarrier } from "./carrier-run.ts";
import type { Recorder } from "./recorder.ts";

test("nobody is taken at once before the queue was seen empty: others may wait longer", async () => {
  const looked = Promise.withResolvers<never[]>();
  const db = { ...absentDatabase(), query: () => looked.promise };
  const nodeId = newId(systemClock.now().getTime());
  const run = runCarrier({
    db,
    carrier: roomy,
    recorder: recorderOf(db, nodeId),
    routing: () => assert.fail("nothing is handed over"),
    isPaused: () => false,
    nodeId,
    clock: systemClock,
    log: silentLog,
  });
  const message = { segments: 1 } as MessageRow;

  const isTakenBefore = run.reserve(message);
  looked.resolve([]);
  await eventually("it is taken", async () => run.reserve(message));
  run.release(message);
  await run.stop();

  assert.equal(isTakenBefore, false);
});

test("what was leased before the machine was suspended for long does not leave afterwards", async () => {
  let suspendedMs = 0;
  const clock = { ...systemClock, leaseMs: () => systemClock.leaseMs() + suspendedMs };
  const asked = Promise.withResolvers<() => boolean>();
  const answered = Promise.withResolvers<{ kind: "unsent" }>();
  const submit: Carrier["submit"] = (_segment, _signal, mayLeave) => {
    asked.resolve(mayLeave);
    return answered.promise;
  };
  const { run, message } = await reserved({ clock, submit });
  run.take(message);

  const mayLeave = await asked.promise;
  const before = mayLeave();
  suspendedMs = 60_000;
  const after = mayLeave();
  answered.resolve({ kind: "unsent" });
  await run.stop();

  assert.deepEqual([before, after], [true, false]);
});

test("a lease counts from when the place was kept, however long the message took to be stored", async () => {
  let tookMs = 0;
  const clock = { ...systemClock, leaseMs: () => systemClock.leaseMs() + tookMs };
  const steps: unknown[] = [];
  const { run, message } = await reserved({
    clock,
    submit: () => assert.fail("others may think this node is dead"),
    async submission({ step }) {
      steps.push(step?.next);
      return "stored";
    },
  });

  tookMs = 60_000;
  run.take(message);
  await run.stop();

  assert.deepEqual(steps, ["again"]);
});

type Given = Partial<Pick<Recorder, "submission">> & { clock: Clock; submit: Carrier["submit"] };

/** A place is kept for one message, which nothing else waits beside. */
async function reserved({ clock, submit, ...recording }: Given) {
  const nodeId = newId(systemClock.now().getTime());
  const db = { ...absentDatabase(), query: () => Promise.resolve([]) };
  const run = runCarrier({
    db,
    carrier: { ...roomy, submit },
    recorder: { ...recorderOf(db, nodeId), ...recording },
    routing: () => assert.fail("no other way is looked for"),
    isPaused: () => false,
    nodeId,
    clock,
    log: silentLog,
  });
  const fields = { segments: 1, text: "Hello", encoding: "gsm7" };
  const message = { ...fields, expires_at: new Date(Date.UTC(2200, 0)) } as MessageRow;
  await eventually("it is taken", async () => run.reserve(message));
  return { run, message };
}

const roomy = {
  carrierId: "c1",
  name: "c1",
  room: () => 10,
  onRoom() {},
  stop: () => Promise.resolve(),
} as unknown as Carrier;
