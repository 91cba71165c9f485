import assert from "node:assert/strict";
import { test } from "node:test";
import type { Carrier, SubmitOutcome } from "#carriers";
import type { MessageRow } from "#messages";
import {
  type Clock,
  type Database,
  newId,
  NIL_ID,
  silentLog,
  type Sql,
  systemClock,
} from "#platform";
import { absentDatabase, recorderOf } from "../../test/support/recorder.ts";
import { eventually } from "../../test/support/eventually.ts";
import { runCarrier } from "./carrier-run.ts";
import type { Recorder } from "./recorder.ts";

test("no message skips the queue before it was seen empty: others may have waited longer", async () => {
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

test("a message leased before a long suspension of the machine does not leave afterwards", async () => {
  let suspendedMs = 0;
  const clock = { ...systemClock, leaseMs: () => systemClock.leaseMs() + suspendedMs };
  const asked = Promise.withResolvers<() => boolean>();
  const answered = Promise.withResolvers<{ kind: "unsent" }>();
  const submit: Carrier["submit"] = (_segment, _signal, mayLeave) => {
    asked.resolve(mayLeave);
    return answered.promise;
  };
  const { run, message } = await reserved({ clock, submit, submission: async () => "stored" });
  run.take(message);

  const mayLeave = await asked.promise;
  const before = mayLeave();
  suspendedMs = 60_000;
  const after = mayLeave();
  answered.resolve({ kind: "unsent" });
  await run.stop();

  assert.deepEqual([before, after], [true, false]);
});

test("a lease counts from when the place was reserved, however long the message took to be stored", async () => {
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

test("places are reserved for no more segments than there is room for, and a released place is free again", async () => {
  let isBehind = false;
  const { run, message } = await reserved({
    clock: restless,
    room: () => 3,
    isBehind: () => isBehind,
    submit: () => assert.fail("nothing is handed over"),
  });
  const [second, third, fourth] = [{ ...message }, { ...message }, { ...message }];
  const isKept = (kept: MessageRow) => eventually("it is kept", async () => run.reserve(kept));

  assert.equal(run.reserve({ ...message, segments: 3 }), false, "there is room for two");
  await isKept(second);
  await isKept(third);
  assert.equal(run.reserve({ ...message }), false, "there is none left");
  run.release(second);
  await isKept(fourth);
  run.release(third);
  isBehind = true;
  assert.equal(run.reserve({ ...message }), false, "answers wait to be stored");
  for (const each of [message, fourth]) run.release(each);
  await run.stop();
});

test("no message overtakes one that is stored without a place, even if a claim came too early for it", async () => {
  let [claims, room] = [0, 10];
  const count = async () => ((claims += 1), []);
  const run = running({
    db: { ...empty, query: count } as Database,
    clock: restless,
    room: () => room,
    submit: () => assert.fail("nothing is handed over"),
  });
  const [older, newer] = [messageOf(), messageOf()];
  const takesUp = async () => run.reserve(newer);
  await eventually("the queue was seen empty", takesUp);
  run.release(newer);
  room = 0;
  assert.equal(run.reserve(older), false);
  room = 10;
  await eventually("a claim found it empty again", takesUp);
  run.release(newer);

  run.release(older);
  const isTakenBefore = run.reserve(newer);
  const before = claims;
  await eventually("the older one was claimed", takesUp);
  run.release(newer);
  await run.stop();

  assert.equal(isTakenBefore, false);
  assert.ok(claims > before);
});

test("no message overtakes one that goes back, even if a claim comes before that is stored", async () => {
  const [given, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<"stored">()];
  let claims = 0;
  const count = async () => ((claims += 1), []);
  const { run, message } = await reserved({
    db: { ...empty, query: count } as Database,
    clock: restless,
    submit: async () => ({ kind: "unsent" }),
    submission() {
      given.resolve();
      return stored.promise;
    },
  });
  const newer = { ...message };
  run.take(message);
  await given.promise;

  const before = claims;
  await eventually("a claim finds nothing", async () => claims > before + 2);
  const isTakenBefore = run.reserve(newer);
  run.release(newer);
  stored.resolve("stored");
  await eventually("it was claimed again", async () => run.reserve(newer));
  run.release(newer);
  await run.stop();

  assert.equal(isTakenBefore, false);
});

test("a run that stops reserves no more places, waits for those it has, and gives back what they bring", async () => {
  const happened: unknown[] = [];
  const { run, message } = await reserved({
    clock: restless,
    async submit(_segment, signal) {
      happened.push(signal.aborted ? "told of the stop" : "sent");
      return { kind: "unsent" };
    },
    async submission({ answer, step }) {
      happened.push(answer.kind, step);
      return "stored";
    },
    async stop() {
      happened.push("closed");
    },
  });

  const stopped = run.stop();
  assert.equal(run.reserve({ ...message }), false);
  await systemClock.sleep(30);
  run.take(message);
  await stopped;

  // Not to the next carrier of its route: this one took nothing because the node stops.
  const again = { next: "again", delayMs: 0, carrierId: "c1" };
  assert.deepEqual(happened, ["told of the stop", "none", again, "closed"]);
});

test("a segment still unanswered when its carrier closes is recorded as in doubt before the stop is over", async () => {
  const answered = Promise.withResolvers<SubmitOutcome>();
  const recorded: unknown[] = [];
  let [passedMs, speed] = [0, 100];
  const clock: Clock = {
    ...restless,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
    sleep(ms, signal) {
      passedMs += speed * ms;
      return restless.sleep(ms, signal);
    },
  };
  const { run, message } = await reserved({
    clock,
    submit: () => answered.promise,
    async submission({ answer }) {
      await systemClock.sleep(5);
      recorded.push(answer.kind);
      return "stored";
    },
    async stop() {
      speed = 0;
      answered.resolve({ kind: "in_doubt", why: "link_lost" });
    },
  });
  run.take(message);

  await run.stop();

  assert.deepEqual(recorded, ["in_doubt"]);
});

test("a run is idle only when no claim, no reserved place and no message under way is left", async () => {
  const [claimed, answered] = [Promise.withResolvers<[]>(), Promise.withResolvers<SubmitOutcome>()];
  const db = { ...empty, query: () => claimed.promise } as Database;
  const run = running({
    db,
    clock: restless,
    submit: () => answered.promise,
    submission: async () => "stored",
  });
  const message = messageOf();

  assert.equal(run.isIdle(), false, "what is claimed may leave");
  claimed.resolve([]);
  await eventually("the claim is over", async () => run.isIdle());
  await eventually("a place is kept", async () => run.reserve(message));
  assert.equal(run.isIdle(), false, "what comes will leave");
  run.take(message);
  await systemClock.sleep(5);
  assert.equal(run.isIdle(), false, "its answer is to come");
  answered.resolve({ kind: "accepted", carrierMessageId: "x", matchId: "x" });
  await eventually("it is recorded", async () => run.isIdle());
  await run.stop();
});

test("what a claim took is in hand before the claim is over", async () => {
  const [claimed, answered] = [
    Promise.withResolvers<object[]>(),
    Promise.withResolvers<SubmitOutcome>(),
  ];
  const claims = [claimed.promise];
  const db = {
    ...empty,
    async query({ text, values }: Sql) {
      if (!text.includes("claim_sends")) return (values[1] as string[]).map(messageOf);
      return (await claims.shift()) ?? [];
    },
  } as Database;
  const submission = async () => "stored" as const;
  const run = running({ db, clock: restless, submit: () => answered.promise, submission });
  const wasIdle: boolean[] = [];

  claimed.resolve([{ ...claim, account_id: "a", message_id: "a" }]);
  while (run.inFlight.size === 0 && wasIdle.length < 1_000) {
    wasIdle.push(run.isIdle());
    await Promise.resolve();
  }

  assert.equal(run.inFlight.size, 1);
  assert.ok(!wasIdle.includes(true), "a report in between would say that nothing leaves");
  answered.resolve({ kind: "accepted", carrierMessageId: "x", matchId: "x" });
  await run.stop();
});

test("after a full claim the next begins behind its last account, and after an empty one it rests", async () => {
  const [first = "", second = "", third = ""] = [1, 2, 3].map((n) => newId(n));
  // The order in which they wait, which differs from the order of their accounts.
  const waiting = [[second, third, first], [first], []];
  const begins: unknown[] = [];
  const rested = Promise.withResolvers<void>();
  const db = {
    ...empty,
    async query({ text, values }: Sql) {
      if (!text.includes("claim_sends")) return (values[1] as string[]).map(messageOf);
      begins.push(values.at(-1));
      const accounts = waiting.shift() ?? assert.fail("it should rest");
      return accounts.map((account_id) => ({ ...claim, account_id, message_id: account_id }));
    },
  } as Database;
  const sleep: Clock["sleep"] = (ms, signal) => {
    rested.resolve();
    return systemClock.sleep(ms, signal);
  };

  const run = running({
    db,
    clock: { ...systemClock, sleep },
    room: () => 3,
    submit: async () => ({ kind: "accepted", carrierMessageId: "x", matchId: "x" }),
    submission: async () => "stored",
  });
  await rested.promise;
  await run.stop();

  assert.deepEqual(begins, [NIL_ID, third, NIL_ID]);
});

const claim = { lease_epoch: 1, attempt: 1, was_leased: false };

function messageOf(messageId = ""): MessageRow {
  const fields = { segments: 1, text: "Hello", encoding: "gsm7", message_id: messageId };
  const expires_at = new Date(Date.UTC(2200, 0));
  return { ...fields, account_id: messageId, expires_at } as MessageRow;
}

/** Rests for a moment only. */
const restless: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(1, ms), signal),
};

type Given = Partial<Pick<Recorder, "submission" | "isBehind"> & Pick<Carrier, "room" | "stop">> & {
  clock: Clock;
  db?: Database;
  submit: Carrier["submit"];
};

/** Room is reserved for one message, and nothing else waits. */
async function reserved(given: Given) {
  const run = running(given);
  const message = messageOf();
  await eventually("it is taken", async () => run.reserve(message));
  return { run, message };
}

function running({ clock, db = empty, submission, isBehind, ...carrier }: Given) {
  const nodeId = newId(systemClock.now().getTime());
  return runCarrier({
    db,
    carrier: { ...roomy, ...carrier },
    recorder: {
      ...recorderOf(db, nodeId),
      ...(submission && { submission }),
      ...(isBehind && { isBehind }),
    },
    routing: async () => ({ version: 1, carriersFor: () => ["c1", "c2"], priceFor: () => 1 }),
    isPaused: () => false,
    nodeId,
    clock,
    log: silentLog,
  });
}

const empty: Database = { ...absentDatabase(), query: () => Promise.resolve([]) };

const roomy = {
  carrierId: "c1",
  name: "c1",
  room: () => 10,
  onRoom() {},
  stop: () => Promise.resolve(),
} as unknown as Carrier;
