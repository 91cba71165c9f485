import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, type Log, localMoment, NIL_ID, silentLog } from "#platform";
import { testEgress } from "../../test/support/egress.ts";
import { attempt, key, late, ok } from "../../test/support/lanes.ts";
import { type ManualClock, manualClock } from "../../test/support/manual-clock.ts";
import { type Ahead, aheadKeeper } from "./ahead.ts";
import type { ClaimedDelivery } from "./deliveries.ts";
import { type DeliveryMetrics, deliveryMetrics } from "./delivery-metrics.ts";
import { deliveryRunner } from "./delivery-runner.ts";
import { laneKeeper, type Lanes } from "./lanes.ts";
import { type Attempt, type Poster, unsent } from "./post.ts";
import type { AttemptRecorder } from "./record-attempts.ts";

const never = () => new Promise<never>(() => {});

test("if a host name is full, slots granted for kept deliveries are given back, and those stay kept", () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock });
  const [own, ...others] = [key(1), key(2), key(3)] as const;
  for (const each of [own, ...others]) for (let n = 0; n < 25; n += 1) attempt(lanes, each, ok);
  const place = { accountId: NIL_ID, hostname: "127.0.0.1", origin: "http://127.0.0.1:8080" };
  const taken = lanes
    .grant(others, "first")
    .flatMap(({ hostKey, slots }) => Array.from({ length: slots }, () => hostKey));
  const [last = own, ...rest] = taken;
  for (const hostKey of rest) assert.ok(lanes.begin(hostKey, "first", place));
  lanes.giveBack({ hostKey: last, slots: 1 }, "first");
  const before = lanes.inFlight().all;
  const ahead = aheadKeeper(lanes);
  const runner = runnerOf({ clock, lanes, ahead });
  for (const sequence of [1, 2, 3]) runner.keep(claimed(clock, own, sequence), "first");

  const left = lanes.grant([own], "first").map((grant) => runner.beginKept(grant, "first"));

  assert.deepEqual([before, left, lanes.inFlight().all], [63, [0], 64]);
  assert.equal(ahead.held(own), 2);
});

test("a slot for first attempts is not used for what is kept of others, nor the other way round", () => {
  for (const [kept, granted] of [
    ["again", "first"],
    ["first", "again"],
  ] as const) {
    const clock = manualClock();
    const lanes = laneKeeper({ clock });
    const runner = runnerOf({ clock, lanes });
    runner.keep(claimed(clock, key(1), 2), kept);

    const left = lanes.grant([key(1)], granted).map((grant) => runner.beginKept(grant, granted));

    assert.deepEqual(left, [2]);
    assert.deepEqual([runner.lanesKept(kept), runner.lanesKept(granted)], [[key(1)], []]);
  }
});

test("a delivery that has not begun within 5 s of its claim is given back, and never posted", () => {
  const clock = manualClock();
  const posted: (string | undefined)[] = [];
  const recorded: unknown[] = [];
  const runner = runnerOf({
    clock,
    lanes: laneKeeper({ clock }),
    post: ({ headers }) => (posted.push(headers["X-SMS-Sequence"]), never()),
    record: ({ claim: { sequence }, next }) => (recorded.push({ sequence, next }), never()),
  });
  runner.keep(claimed(clock, key(1), 2), "first");
  clock.advance(1);
  runner.keep(claimed(clock, key(2), 3), "first");

  clock.advance(5_000);
  runner.sweep();

  assert.deepEqual(posted, ["3"]);
  assert.deepEqual(recorded, [{ sequence: 2, next: "put_back" }]);
});

test("a post says whether its receiver is reliable", () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock });
  const posted: (boolean | undefined)[] = [];
  const post: Poster["post"] = ({ isReliable }) => (posted.push(isReliable), never());
  const runner = runnerOf({ clock, lanes, post });
  attempt(lanes, key(1), ok);

  for (const each of [key(1), key(2)]) runner.offerFirst(claimed(clock, each, 2));

  assert.deepEqual(posted, [true, false]);
});

test("a slot is freed if its claim has waited too long, and if the attempt fails by a bug", async () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock });
  const runner = runnerOf({ clock, lanes, post: () => Promise.reject(new Error("a bug")) });
  const old = claimed(clock, key(1), 2);
  clock.advance(5_001);

  for (const delivery of [old, claimed(clock, key(2), 2)]) {
    assert.ok(lanes.take(delivery.hostKey, "first"));
    assert.ok(runner.begin(delivery, "first"));
  }
  await new Promise(setImmediate);

  assert.equal(lanes.inFlight().all, 0);
});

test("a stop gives back what has not begun, waits for attempts under way, closes the connections, and waits until all is recorded", async () => {
  const clock = manualClock();
  const steps: string[] = [];
  const answered = Promise.withResolvers<Attempt>();
  const runner = runnerOf({
    clock,
    lanes: laneKeeper({ clock }),
    post: () => answered.promise,
    record: ({ next }) => Promise.resolve(void steps.push(next)),
    onStop: (step) => steps.push(step),
  });
  runner.offerFirst(claimed(clock, key(1), 2));
  runner.keep(claimed(clock, key(2), 2), "first");

  const stopping = runner.stop();
  clock.advance(10_000);
  await new Promise(setImmediate);
  steps.push("answered");
  answered.resolve({ ...unsent({ kind: "forbidden", detail: "" }), outcome: ok });
  await new Promise(setImmediate);
  clock.advance(10);
  await stopping;

  assert.deepEqual(steps, ["put_back", "answered", "ended", "closed", "idle"]);
});

test("the delay is measured for first attempts only; bad endings and faults of ours are logged in words", async () => {
  const clock = manualClock();
  const delays: number[] = [];
  const told: string[] = [];
  const say = (_fields: unknown, words: string) => void told.push(words);
  const outcomes: Attempt["outcome"][] = [
    ok,
    late,
    { kind: "forbidden", detail: "" },
    { kind: "our_fault", detail: "" },
  ];
  const runner = runnerOf({
    clock,
    lanes: laneKeeper({ clock }),
    metrics: { ...deliveryMetrics(createMetrics()), begun: (ms) => void delays.push(ms) },
    log: { ...silentLog, warn: say, error: say } as Log,
    post({ headers }) {
      const outcome = outcomes[Number(headers["X-SMS-Sequence"])] ?? late;
      return Promise.resolve({ ...unsent({ kind: "forbidden", detail: "" }), outcome });
    },
  });

  for (let n = 0; n < 5; n += 1) {
    const last = n === 4 ? { attempt: 7, step: 6 } : {};
    runner.offerFirst({ ...claimed(clock, key(n), n), ...last });
    await new Promise(setImmediate);
  }

  assert.deepEqual(delays, [0, 0, 0, 0]);
  assert.deepEqual(told, [
    "a webhook was not sent: its address must not be called",
    "a webhook could not be tried by a fault of ours",
    "a webhook was given up after its last attempt",
  ]);
});

type Watched = {
  clock: ManualClock;
  lanes: Lanes;
  metrics?: DeliveryMetrics;
  log?: Log;
  ahead?: Ahead;
  post?: Poster["post"];
  record?: AttemptRecorder["record"];
  onStop?: (step: string) => void;
};

/** A runner whose attempts never end unless told otherwise. */
function runnerOf({
  clock,
  lanes,
  metrics = deliveryMetrics(createMetrics()),
  log = silentLog,
  ahead = aheadKeeper(lanes),
  post = never,
  record = never,
  onStop = () => {},
}: Watched) {
  const close = () => Promise.resolve(onStop("closed"));
  const recorder = { record, idle: () => Promise.resolve(onStop("idle")) };
  return deliveryRunner({
    clock,
    log,
    metrics,
    lanes,
    ahead,
    poster: { post, close },
    recorder,
    policy: testEgress().policy,
    version: "test",
    onRoom: () => {},
  });
}

function claimed(clock: ManualClock, hostKey: bigint, sequence: number): ClaimedDelivery {
  return {
    messageId: NIL_ID,
    sequence,
    accountId: NIL_ID,
    hostKey,
    replayId: null,
    attempt: 1,
    step: 0,
    epoch: 1,
    createdAt: clock.now(),
    claimedAt: clock.now(),
    claimedHere: localMoment(clock),
    status: "SENT",
    eventAt: clock.now(),
    url: "http://127.0.0.1:8080/",
    body: Buffer.from("{}"),
    secrets: { current: "whsec_AAEC", previous: null },
  };
}
