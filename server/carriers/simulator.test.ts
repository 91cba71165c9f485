import assert from "node:assert/strict";
import { test } from "node:test";

import { silentLog } from "#platform";

import { type ManualClock, manualClock } from "../../test/support/manual-clock.ts";
import { leaves, segmentTo, sinkOf } from "../../test/support/smpp.ts";
import { quiet, until } from "../../test/support/until.ts";
import type { OutgoingSegment, Receipt, SubmitOutcome } from "./carrier.ts";
import { type SimulatorCarrier, simulatorCarrier } from "./simulator.ts";

const { signal } = new AbortController();

function simulator(store: () => Promise<void> = () => Promise.resolve()) {
  const clock: ManualClock = manualClock();
  const receipts: Receipt[] = [];
  const carrier: SimulatorCarrier = simulatorCarrier({
    carrierId: "carrier-1",
    name: "simulator",
    clock,
    log: silentLog,
    receipts: sinkOf(async (batch) => {
      await store();
      receipts.push(...batch);
    }),
  });
  carrier.start();
  return {
    carrier,
    clock,
    receipts,
    submit: (lastDigits: string, given: Partial<OutgoingSegment> = {}): Promise<SubmitOutcome> =>
      carrier.submit(segmentTo(`491511234${lastDigits}`, given), signal, leaves),
    receiptArrived: async (): Promise<Receipt> => {
      await until("a receipt is stored", () => receipts.length > 0);
      return receipts[0] as Receipt;
    },
  };
}

test("a recipient without special digits is accepted, then delivered at once", async () => {
  const { submit, receiptArrived } = simulator();

  const outcome = await submit("5678");
  const receipt = await receiptArrived();

  assert.ok(outcome.kind === "accepted");
  assert.deepEqual(receipt, {
    carrierId: "carrier-1",
    carrierMessageIds: [outcome.matchId],
    state: "DELIVRD",
    effect: "delivered",
    errorCode: null,
    carrierCode: "000",
    recipient: "4915112345678",
    raw: null,
  });
});

test("…0001 is accepted, and its receipt says undelivered", async () => {
  const { submit, receiptArrived } = simulator();

  assert.equal((await submit("0001")).kind, "accepted");

  assert.partialDeepStrictEqual(await receiptArrived(), {
    state: "UNDELIV",
    effect: "undelivered",
    errorCode: "RECIPIENT_UNREACHABLE",
    carrierCode: "001",
  });
});

test("…0002 is refused for good", async () => {
  const { submit, receipts } = simulator();

  assert.deepEqual(await submit("0002"), {
    kind: "refused",
    temporary: false,
    throttled: false,
    code: "REJECTED_BY_CARRIER",
    carrierCode: "0x45",
  });
  await quiet();
  assert.deepEqual(receipts, []);
});

test("…0003 is throttled twice, then delivered, even if another process makes the third try", async () => {
  const [first, second] = [simulator(), simulator()];

  const outcomes = [
    await first.submit("0003", { attempt: 1 }),
    await first.submit("0003", { attempt: 2 }),
    await second.submit("0003", { attempt: 3 }),
  ];

  const throttled = { kind: "refused", temporary: true, throttled: true, carrierCode: "0x58" };
  assert.partialDeepStrictEqual(outcomes, [throttled, throttled, { kind: "accepted" }]);
  assert.equal((await second.receiptArrived()).effect, "delivered");
});

test("…0004 is accepted and gets no receipt", async () => {
  const { submit, receipts, clock } = simulator();

  assert.equal((await submit("0004")).kind, "accepted");

  clock.advance(3_600_000);
  await quiet();
  assert.deepEqual(receipts, []);
});

test("…0005 gets its receipt after ten seconds", async () => {
  const { submit, receipts, receiptArrived, clock } = simulator();

  assert.equal((await submit("0005")).kind, "accepted");
  clock.advance(9999);
  await quiet();
  assert.deepEqual(receipts, []);
  clock.advance(1);

  assert.equal((await receiptArrived()).effect, "delivered");
});

test("…0006 gets its receipt before its answer", async () => {
  const stored = Promise.withResolvers<void>();
  const order: string[] = [];
  const { submit } = simulator(async () => {
    await stored.promise;
    order.push("receipt stored");
  });

  const submitted = submit("0006").then(({ kind }) => order.push(kind));
  await quiet();
  assert.deepEqual(order, []);
  stored.resolve();
  await submitted;

  assert.deepEqual(order, ["receipt stored", "accepted"]);
});

test("…0007 is accepted, and its receipt says rejected", async () => {
  const { submit, receiptArrived } = simulator();

  assert.equal((await submit("0007")).kind, "accepted");

  assert.partialDeepStrictEqual(await receiptArrived(), {
    state: "REJECTD",
    effect: "rejected",
    errorCode: "REJECTED_BY_CARRIER",
    carrierCode: "007",
  });
});

test("…0008 is in doubt after two seconds, and delivered when it is resent", async () => {
  const { submit, receiptArrived, clock, carrier } = simulator();

  const silent = submit("0008");
  assert.equal(carrier.state().links[0]?.windowInUse, 1);
  clock.advance(2000);
  const resent = await submit("0008", { attempt: 2, resent: true });

  assert.deepEqual(await silent, { kind: "in_doubt", why: "timeout" });
  assert.equal(resent.kind, "accepted");
  assert.equal((await receiptArrived()).effect, "delivered");
});

test("before its start and after its stop, the simulator is down and takes nothing", async () => {
  const { carrier, clock, submit } = simulator();
  const seen = () => {
    const { state, takesMessages, links } = carrier.state();
    return [state, takesMessages, links[0]?.state, carrier.room() > 0];
  };
  const stopped = simulatorCarrier({
    carrierId: "carrier-2",
    name: "another",
    clock,
    log: silentLog,
    receipts: sinkOf(async () => {}),
  });
  let calls = 0;
  stopped.onRoom(() => (calls += 1));

  assert.equal(stopped.room(), 0);
  assert.equal((await stopped.submit(segmentTo("4915112345678"), signal, leaves)).kind, "unsent");
  stopped.start();
  assert.equal(calls, 1, "whoever waits for room is told");
  assert.deepEqual(seen(), ["up", true, "bound", true]);
  await carrier.stop();
  assert.deepEqual(seen(), ["down", false, "stopped", false]);
  assert.equal((await submit("5678")).kind, "unsent");
});

test("a segment whose signal has aborted goes back unsent", async () => {
  const { carrier, receipts } = simulator();

  const outcome = await carrier.submit(segmentTo("4915112345678"), AbortSignal.abort(), leaves);
  await quiet();

  assert.deepEqual([outcome, receipts], [{ kind: "unsent" }, []]);
});

test("a stop waits for the segments in doubt, which take up room meanwhile", async () => {
  const { carrier, clock, submit } = simulator();
  const all = carrier.room();
  const silent = submit("0008");
  assert.equal(carrier.room(), all - 1);
  let isStopped = false;

  const stopped = carrier.stop().then(() => (isStopped = true));
  await quiet();
  assert.equal(isStopped, false);
  clock.advance(2000);
  await stopped;

  assert.deepEqual(await silent, { kind: "in_doubt", why: "timeout" });
  assert.equal(carrier.state().links[0]?.windowInUse, 0);
});

test("the state counts what was submitted, and what became of it", async () => {
  const { carrier, clock, submit, receipts } = simulator();

  for (const digits of ["5678", "0002", "0003"]) await submit(digits);
  const silent = submit("0008");
  clock.advance(2000);
  await silent;
  await until("the receipt is stored", () => receipts.length === 1);

  const { counts, statuses, submitsPerSecond, receiptsPerSecond } = carrier.state();
  assert.partialDeepStrictEqual(counts, {
    accepted: 1,
    refused: 2,
    throttled: 1,
    inDoubt: 1,
    receipts: 1,
  });
  assert.deepEqual(statuses, { "0x45": 1, "0x58": 1 });
  assert.ok(submitsPerSecond > receiptsPerSecond && receiptsPerSecond > 0);
});

test("ids of two runs never collide", async () => {
  const ids = new Set<string>();
  for (let run = 0; run < 20; run += 1) {
    const { submit } = simulator();
    for (let n = 0; n < 50; n += 1) {
      const outcome = await submit("0004");
      if (outcome.kind === "accepted") ids.add(outcome.carrierMessageId);
    }
  }

  assert.equal(ids.size, 1000);
});

test("a receipt that could not be stored is sent again until it is", async () => {
  let failures = 3;
  const { submit, receipts, clock } = simulator(async () => {
    failures -= 1;
    if (failures >= 0) throw new Error("the database is away");
  });

  await submit("5678");
  await until("it is stored", () => {
    clock.advance(250);
    return receipts.length === 1;
  });
});

test("there is no room while too many receipts wait for the database, and then there is again", async () => {
  const stored = Promise.withResolvers<void>();
  const { carrier, submit, receipts } = simulator(() => stored.promise);
  let calls = 0;
  carrier.onRoom(() => (calls += 1));

  for (let n = 0; n < 5000; n += 1) await submit("5678");
  await until("there is no room", () => carrier.room() === 0);
  stored.resolve();
  await until("all are stored", () => receipts.length === 5000);

  assert.ok(carrier.room() > 0);
  assert.equal(calls, 1);
});

test("stopping sends the receipts that still wait for their time, so that none is lost", async () => {
  const { carrier, submit, receipts } = simulator();
  await submit("0005");
  await submit("5678");

  await carrier.stop();
  assert.equal(receipts.length, 2);

  assert.deepEqual(await submit("5678"), { kind: "unsent" });
  assert.equal(carrier.room(), 0);
});

test("a stop without a database leaves in doubt any segment whose receipt is not stored yet", async () => {
  const { carrier, clock, submit } = simulator(() => Promise.reject(new Error("away")));
  const submitted = submit("0006");
  let isStopped = false;

  const stopped = carrier.stop().then(() => (isStopped = true));
  await until("it has stopped", () => {
    clock.advance(100);
    return isStopped;
  });
  await stopped;

  assert.deepEqual(await submitted, { kind: "in_doubt", why: "link_lost" });
});

test("a new process sends the receipts that the last one owed when it died", async () => {
  const { carrier, receipts } = simulator();

  carrier.recall([
    { carrierMessageId: "a", recipient: "4915112345678" },
    { carrierMessageId: "b", recipient: "4915112340001" },
    { carrierMessageId: "c", recipient: "4915112340004" },
  ]);
  await until("they are stored", () => receipts.length === 2);

  assert.deepEqual(
    receipts.map(({ carrierMessageIds, effect }) => [...carrierMessageIds, effect]),
    [
      ["a", "delivered"],
      ["b", "undelivered"],
    ],
  );
});
