import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, localMoment, NIL_ID, silentLog } from "#platform";
import { testEgress } from "../../test/support/egress.ts";
import { attempt, key, ok } from "../../test/support/lanes.ts";
import { type ManualClock, manualClock } from "../../test/support/manual-clock.ts";
import { aheadKeeper } from "./ahead.ts";
import type { ClaimedDelivery } from "./deliveries.ts";
import { deliveryMetrics } from "./delivery-metrics.ts";
import { deliveryRunner } from "./delivery-runner.ts";
import { laneKeeper, type Lanes } from "./lanes.ts";
import type { Post, Poster } from "./post.ts";
import type { AttemptRecorder, Recorded } from "./record-attempts.ts";

test("where a host name is full, the slots granted for what is kept are given back", () => {
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
  const runner = runnerOf({ clock, lanes });
  for (const sequence of [1, 2, 3]) runner.keep(claimed(clock, own, sequence), "first");

  const left = lanes.grant([own], "first").map((grant) => runner.beginKept(grant, "first"));

  assert.deepEqual([before, left, lanes.inFlight().all], [63, [0], 64]);
});

test("what has not begun within 5 s of its claim is given back, and never posted", () => {
  const clock = manualClock();
  const posted: (string | undefined)[] = [];
  const recorded: unknown[] = [];
  const runner = runnerOf({
    clock,
    lanes: laneKeeper({ clock }),
    onPost: ({ headers }) => posted.push(headers["X-SMS-Sequence"]),
    onRecord: ({ claim: { sequence }, next }) => recorded.push({ sequence, next }),
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
  const runner = runnerOf({ clock, lanes, onPost: ({ isReliable }) => posted.push(isReliable) });
  attempt(lanes, key(1), ok);

  for (const each of [key(1), key(2)]) runner.offerFirst(claimed(clock, each, 2));

  assert.deepEqual(posted, [true, false]);
});

type Watched = {
  clock: ManualClock;
  lanes: Lanes;
  onPost?: (post: Post) => void;
  onRecord?: (recorded: Recorded) => void;
};

/** Whose attempts never end. */
function runnerOf({ clock, lanes, onPost, onRecord }: Watched) {
  const never = () => new Promise<never>(() => {});
  const poster: Poster = {
    post: (post) => (onPost?.(post), never()),
    connections: () => ({ pools: 0, idle: 0, busy: 0 }),
    close: never,
  };
  const recorder: AttemptRecorder = {
    record: (recorded) => (onRecord?.(recorded), never()),
    idle: never,
  };
  return deliveryRunner({
    clock,
    log: silentLog,
    metrics: deliveryMetrics(createMetrics()),
    lanes,
    ahead: aheadKeeper(lanes),
    poster,
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
