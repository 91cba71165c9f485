import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import type { OutgoingSegment, Reply, SubmitOutcome } from "#carriers";
import { systemClock } from "#platform";

import { type ManualClock, manualClock } from "../../../test/support/manual-clock.ts";
import {
  boundWorld,
  leaves,
  receiptSaying,
  segmentTo,
  smppWorld,
  type SmppWorld,
} from "../../../test/support/smpp.ts";
import { quiet, until } from "../../../test/support/until.ts";
import { encodeShortMessage } from "./codec/body.ts";
import { command } from "./codec/header.ts";
import { status } from "./codec/status.ts";

const recipients = (count: number) =>
  Array.from({ length: count }, (_, n) => String(4_915_100_001_000 + n * 10_000 + 99));

for (const window of [1, 10, 100]) {
  test(`a window of ${window} is used whole and never exceeded`, async () => {
    let [unanswered, most] = [0, 0];
    const answer = (): Reply => {
      unanswered += 1;
      most = Math.max(most, unanswered);
      return { afterMs: 1, reply: { raw: (right) => ((unanswered -= 1), right) } };
    };
    await using world = await boundWorld({ settings: { window }, smsc: { answer } });

    const outcomes = await Promise.all(recipients(window * 5).map((to) => world.submit(to)));

    assert.ok(outcomes.every(({ kind }) => kind === "accepted"));
    assert.equal(most, window);
  });
}

test("a carrier tells the sending room what its settings say of doubts, long messages and receipts", async () => {
  await using world = await smppWorld({
    settings: {
      in_doubt: "fail",
      long_messages: "payload",
      receipt_per: "message",
      receipt_window: "2d",
      parked_receipts: "3d",
      default_sender: "Acme",
    },
  });
  const { inDoubt, wholeMessages, receiptRules } = world.carrier;

  assert.deepEqual([inDoubt, wholeMessages], ["fail", true]);
  assert.deepEqual(receiptRules, {
    per: "message",
    windowMs: 172_800_000,
    parkedMs: 259_200_000,
    defaultSender: "Acme",
  });
});

test("two binds share the work, each with its own window", async () => {
  await using world = await smppWorld({
    share: { binds: 2, rate: 0 },
    settings: { window: 5 },
    smsc: { answer: "never" },
  });
  await until("both have room", () => world.carrier.room() === 10);

  const submits = recipients(10).map((to) => world.submit(to));
  await world.smsc.submitArrived(10);

  const byConnection = Map.groupBy(world.smsc.received(), ({ connection }) => connection);
  assert.deepEqual(
    [...byConnection.values()].map(({ length }) => length),
    [5, 5],
  );
  assert.equal(world.carrier.room(), 0);
  world.smsc.dropConnections();
  await Promise.all(submits);
});

test("segments leave evenly at the share of the rate, whatever was handed over at once", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    share: { binds: 1, rate: 50 },
    settings: { window: 1000 },
  });

  const submits = recipients(100).map((to) => world.submit(to));
  for (const [ms, sent] of [
    [0, 1],
    [99, 5],
    [1, 6],
    [900, 51],
    [980, 100],
  ] as const) {
    clock.advance(ms);
    await world.smsc.submitArrived(sent);
    await new Promise(setImmediate);
    assert.equal(world.smsc.submitCount(), sent);
  }

  await Promise.all(submits);
});

test("on a real clock no tenth of a second gets more than its share plus what a late timer made up", async () => {
  await using world = await boundWorld({
    share: { binds: 1, rate: 1000 },
    settings: { window: 1000 },
  });
  const { signal } = new AbortController();
  const leftAtMs: number[] = [];
  const mayLeave = () => leftAtMs.push(systemClock.monotonicMs()) > 0;

  await Promise.all(
    recipients(300).map((to) => world.carrier.submit(segmentTo(to), signal, mayLeave)),
  );

  // Lateness may be made up twice: a process that stalls amid sends reads the time too late.
  const share = 100 + 2 * (1 + 20);
  const inTenth = leftAtMs.map(
    (fromMs) => leftAtMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 100).length,
  );
  assert.equal(leftAtMs.length, 300);
  assert.ok(Math.max(...inTenth) <= share, `${Math.max(...inTenth)} in a tenth of a second`);
});

test("room is what can leave within a tenth of a second, not within a second", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    share: { binds: 1, rate: 50 },
    settings: { window: 100 },
  });

  assert.equal(world.carrier.room(), 5);
});

/** Hands over a list like a send loop: oldest first, as room allows, retrying what comes back. */
function handOver({ carrier }: SmppWorld, segments: OutgoingSegment[]) {
  const { signal } = new AbortController();
  const waiting = [...segments];
  const accepted: string[] = [];
  let open = segments.length;

  async function submit(segment: OutgoingSegment): Promise<void> {
    const outcome = await carrier.submit(segment, signal, leaves);
    if (outcome.kind === "accepted") {
      accepted.push(segment.recipient);
      open -= 1;
      return;
    }
    assert.ok(outcome.kind === "unsent" || (outcome.kind === "refused" && outcome.throttled));
    waiting.push(segment);
    waiting.sort((a, b) => Number(a.recipient) - Number(b.recipient));
  }

  return {
    accepted,
    isDone: () => open === 0,
    pass() {
      for (const segment of waiting.splice(0, carrier.room())) void submit(segment);
    },
  };
}

async function runUntilDone(clock: ManualClock, loop: ReturnType<typeof handOver>): Promise<void> {
  await until("everything is accepted", () => {
    loop.pass();
    clock.advance(10);
    return loop.isDone();
  });
}

test("a throttling carrier is slowed down and nothing is lost, doubled or out of order", async () => {
  const clock = manualClock();
  let seen = 0;
  await using world = await boundWorld({
    clock,
    share: { binds: 1, rate: 50 },
    settings: { window: 1 },
    smsc: { answer: () => (++seen >= 4 && seen <= 6 ? "throttle" : "accept") },
  });
  const segments = recipients(12).map((to) => segmentTo(to));

  const loop = handOver(world, segments);
  await runUntilDone(clock, loop);

  assert.deepEqual(
    loop.accepted,
    segments.map(({ recipient }) => recipient),
  );
  assert.equal(world.smsc.submitCount(), 15, "twelve, and three that were throttled");
  assert.equal(world.carrier.state().counts.throttled, 3);
});

test("a queue-full answer slows down like a throttled one", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    smsc: { answer: "queue_full" },
    share: { binds: 1, rate: 50 },
  });

  const outcome = await world.submit();

  assert.partialDeepStrictEqual(outcome, {
    kind: "refused",
    temporary: true,
    throttled: true,
    carrierCode: "0x14",
  });
  assert.equal(world.carrier.room(), 0);
  assert.equal(world.carrier.state().links[0]?.state, "throttled");
  clock.advance(1000);
  assert.equal(world.carrier.room(), 1, "one probe");
});

test("segments waiting for their turn when the carrier throttles go back unsent", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    smsc: { answer: "throttle" },
    share: { binds: 1, rate: 10 },
  });

  const outcomes = await Promise.all(recipients(3).map((to) => world.submit(to)));

  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["refused", "unsent", "unsent"],
  );
});

test("a message throttled again after others got through slows nobody, and is no probe", async () => {
  const clock = manualClock();
  const full = "4366412345678";
  await using world = await boundWorld({
    clock,
    settings: { window: 3 },
    smsc: { answer: ({ recipient }) => (recipient === full ? "queue_full" : "accept") },
    share: { binds: 1, rate: 100 },
  });
  const overtaken = () => world.submit(full, { isOvertaken: true });
  const [again, ...others] = [overtaken(), world.submit(), world.submit()];

  const outcome = await again;
  clock.advance(100);

  assert.partialDeepStrictEqual(outcome, { kind: "refused", throttled: true, carrierCode: "0x14" });
  assert.deepEqual(
    (await Promise.all(others)).map(({ kind }) => kind),
    ["accepted", "accepted"],
  );
  assert.equal(world.carrier.state().links[0]?.state, "bound");

  await world.submit(full);
  clock.advance(1000);
  await overtaken();
  assert.equal(world.carrier.room(), 1, "the next one is the probe");
  await overtaken();
  assert.equal(world.carrier.room(), 0, "the second in a row counts");
  clock.advance(1000);
  await overtaken();
  assert.equal((await world.submit()).kind, "accepted");
  assert.ok(world.carrier.room() > 1, "and won it back");
});

test("a segment that comes while the carrier pauses goes back unsent, and the next one after is the probe", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "throttle" } });
  await world.submit();
  world.smsc.answer("accept");

  assert.deepEqual(await world.submit(), { kind: "unsent" });
  clock.advance(1000);
  assert.equal((await world.submit()).kind, "accepted");
  assert.equal(world.smsc.submitCount(), 2);
});

test("a segment handed over after its signal aborted goes back unsent, even if it could leave", async () => {
  await using world = await boundWorld();

  const late = world.carrier.submit(segmentTo("4915112345678"), AbortSignal.abort(), leaves);

  assert.deepEqual(await late, { kind: "unsent" });
});

test("a waiting segment goes back unsent when its signal aborts or the last link is lost", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, share: { binds: 1, rate: 1 } });
  const aborting = new AbortController();
  await world.submit();

  const aborted = world.carrier.submit(segmentTo("4915112345678"), aborting.signal, leaves);
  const lost = world.submit();
  aborting.abort();
  assert.deepEqual(await aborted, { kind: "unsent" });
  world.smsc.dropConnections();

  assert.deepEqual(await lost, { kind: "unsent" });
  assert.equal(world.smsc.submitCount(), 1);
});

test("a segment that may no longer leave when its turn comes goes back unsent, and the next leaves in its stead", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, share: { binds: 1, rate: 1 } });
  const { signal } = new AbortController();
  let isLeased = true;
  await world.submit();

  const waiting = world.carrier.submit(segmentTo("4915112345678"), signal, () => isLeased);
  assert.equal(world.carrier.room(), 0, "what leaves next waits here already");
  isLeased = false;
  const next = world.submit();
  clock.advance(1000);

  assert.deepEqual(await waiting, { kind: "unsent" });
  await until("the next has left", () => world.smsc.submitCount() === 2);
  assert.partialDeepStrictEqual(await next, { kind: "accepted" });
  assert.deepEqual(getEventListeners(signal, "abort"), [], "nobody listens for what is over");
});

test("a segment that cannot even be asked whether it may leave fails, and holds up nobody", async () => {
  await using world = await boundWorld();
  const { signal } = new AbortController();

  const failed = world.carrier.submit(segmentTo("4915112345678"), signal, () => assert.fail("no"));

  await assert.rejects(failed, /no/);
  assert.partialDeepStrictEqual(await world.submit(), { kind: "accepted" });
});

test("the listener is called when room grows", async () => {
  await using world = await boundWorld({
    smsc: { answer: { afterMs: 1, reply: "accept" } },
    settings: { window: 1 },
  });
  let calls = 0;
  world.carrier.onRoom(() => (calls += 1));

  await world.submit();
  await until("the listener is called", () => calls > 0);

  assert.equal(world.carrier.room(), 1);
});

test("an SMSC that does not read stops us from sending, and memory does not grow with it", async () => {
  await using world = await boundWorld({
    settings: { window: 10_000, long_messages: "payload" },
    smsc: { remember: 0, receipts: { when: "never" } },
  });
  world.smsc.pauseReading();
  const text = "a".repeat(10_000);

  const submits: Promise<SubmitOutcome>[] = [];
  while (submits.length < 10_000 && world.carrier.room() > 0) {
    submits.push(world.submit("4915112345678", { text }));
    if (submits.length % 10 === 0) await new Promise(setImmediate);
  }
  assert.ok(submits.length < 10_000, "the socket asked for a pause before the window was full");
  world.smsc.resumeReading();
  const outcomes = await Promise.all(submits);

  assert.ok(outcomes.every(({ kind }) => kind === "accepted"));
});

test("reading stops while too many receipts wait for the database, and no answer counts as late for it", async () => {
  const clock = manualClock();
  const stored = Promise.withResolvers<void>();
  let answer: Reply = "accept";
  await using world = await boundWorld({
    clock,
    // Shorter than the pause, which must not use up this time.
    settings: { response_timeout: "4s" },
    store: () => stored.promise,
    smsc: {
      answer: () => answer,
      receipts: { states: Array.from({ length: 6000 }, () => "ENROUTE") },
    },
  });
  await world.submit();
  await until("too many are held", () => world.carrier.state().counts.receipts >= 5000);
  const held = world.carrier.state().counts.receipts;
  answer = "never";
  const waiting = world.submit();
  await world.smsc.submitArrived(2);

  clock.advance(4999);
  await quiet();
  stored.resolve();
  await world.receiptArrived(6000);
  clock.advance(3999);
  await quiet();
  assert.equal(world.carrier.state().counts.inDoubt, 0, "the pause does not count");
  clock.advance(1);

  assert.partialDeepStrictEqual(await waiting, { kind: "in_doubt", why: "timeout" });
  assert.ok(held < 6000, `${held} were read before the pause`);
});

test("a bind made while too many receipts wait is not read from either", async () => {
  const stored = Promise.withResolvers<void>();
  await using world = await boundWorld({
    store: () => stored.promise,
    smsc: { receipts: { states: Array.from({ length: 6000 }, () => "ENROUTE") } },
  });
  await world.submit();
  const taken = () => world.carrier.state().counts.receipts;
  await until("too many are held", () => taken() >= 5000);
  const held = taken();

  world.carrier.setShare({ binds: 2, rate: 0 });
  await until("it is bound", () => world.carrier.state().links[1]?.state === "bound");
  const head = { commandId: command.deliverSm, status: 0, sequence: 9_999 };
  world.smsc.sendRaw(encodeShortMessage(head, receiptSaying("id:1 stat:ENROUTE")));
  await quiet();

  assert.equal(taken(), held);
  stored.resolve();
});

test("a segment beyond the limit of those that may wait goes back unsent", async () => {
  await using world = await boundWorld({ smsc: { answer: "never" }, settings: { window: 1 } });
  for (let n = 0; n < 20_001; n += 1) void world.submit();
  let beyond: SubmitOutcome | undefined;

  void world.submit().then((outcome) => (beyond = outcome));
  await quiet();

  assert.deepEqual(beyond, { kind: "unsent" });
});

test("a stop while too many receipts wait still reads the last answers once those are stored", async () => {
  const stored = Promise.withResolvers<void>();
  await using world = await boundWorld({
    store: () => stored.promise,
    smsc: { receipts: { states: Array.from({ length: 6000 }, () => "ENROUTE") } },
  });
  await world.submit();
  await until("too many are held", () => world.carrier.state().counts.receipts >= 5000);
  world.smsc.sendReceipts({ states: [] });
  const waiting = world.submit();
  await world.smsc.submitArrived(2);

  const stopped = world.carrier.stop();
  stored.resolve();

  assert.equal((await waiting).kind, "accepted");
  await stopped;
});

test("the carrier's time after its unbind runs only while we read", async () => {
  const [clock, theirClock] = [manualClock(), manualClock()];
  const stored = Promise.withResolvers<void>();
  let answer: Reply = "accept";
  await using world = await boundWorld({
    clock,
    settings: { unbind_timeout: "1s" },
    store: () => stored.promise,
    smsc: {
      clock: theirClock,
      answer: () => answer,
      receipts: { delayMs: 500, states: Array.from({ length: 6000 }, () => "ENROUTE") },
    },
  });
  await world.submit();
  answer = { afterMs: 1000, reply: "accept" };
  const waiting = world.submit();
  await world.smsc.submitArrived(2);
  answer = "never";
  const lost = world.submit();
  await world.smsc.submitArrived(3);

  world.smsc.unbindAll();
  theirClock.advance(1000);
  await until("too many are held", () => world.carrier.state().counts.receipts >= 5000);
  clock.advance(1000);
  await quiet();
  stored.resolve();

  assert.equal((await waiting).kind, "accepted");
  clock.advance(1000);
  await until("our answer ends the bind", () => world.smsc.pduCount(command.unbindResp) === 1);
  assert.partialDeepStrictEqual(await lost, { kind: "in_doubt" });
});

test("stopping waits for answers and receipts in hand, unbinds and closes", async () => {
  const clock = manualClock();
  const stored = Promise.withResolvers<void>();
  await using world = await boundWorld({
    store: () => stored.promise,
    smsc: { clock, answer: { afterMs: 1000, reply: "accept" }, receipts: { when: "with_answer" } },
  });
  const submitted = world.submit();
  await world.smsc.submitArrived();

  const stopped = world.carrier.stop();
  assert.deepEqual(await world.submit(), { kind: "unsent" }, "nothing more is taken");
  clock.advance(1000);
  assert.equal((await submitted).kind, "accepted");
  await quiet();
  assert.equal(world.smsc.pduCount(command.unbind), 0, "the receipt is not answered yet");
  stored.resolve();
  await stopped;

  assert.equal(world.receipts.length, 1);
  assert.deepEqual(
    world.smsc.deliveryAnswers().map(({ status }) => status),
    [0],
  );
  assert.equal(world.smsc.pduCount(command.unbind), 1);
  assert.equal(world.carrier.state().state, "down");
});

test("missing answers hold up a stop for ten seconds, and are in doubt then", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "never" } });
  const submitted = world.submit();
  await world.smsc.submitArrived();

  const stopped = world.carrier.stop();
  clock.advance(9999);
  await quiet();
  assert.equal(world.smsc.pduCount(command.unbind), 0);
  clock.advance(1);
  await stopped;

  assert.deepEqual(await submitted, { kind: "in_doubt", why: "link_lost" });
  assert.equal(world.smsc.pduCount(command.unbind), 1);
});

test("an SMSC that does not answer the unbind holds up a stop no longer than unbind_timeout", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });
  world.smsc.pauseReading();

  const stopped = world.carrier.stop();
  await until("the unbind is on its way", () => clock.waiting() > 0);
  await new Promise(setImmediate);
  clock.advance(5000);
  await stopped;
});

test("a new share adds binds and ends them in good order", async () => {
  await using world = await boundWorld();

  world.carrier.setShare({ binds: 3, rate: 0 });
  await until("three have room", () => world.carrier.room() === 30);
  world.carrier.setShare({ binds: 1, rate: 0 });
  await world.smsc.pduArrived(command.unbind, 2);
  await until("one is left", () => world.smsc.openConnections() === 1);
  world.carrier.setShare({ binds: 0, rate: 0 });
  await until("none is left", () => world.smsc.openConnections() === 0);

  assert.equal(world.carrier.room(), 0);
});

test("a smaller share ends the links without a bind first", async () => {
  await using world = await smppWorld({ smsc: { bind: status.alreadyBound } });
  const states = () => world.carrier.state().links.map(({ state }) => state);
  await until("the first waits", () => states()[0] === "connection_lost");
  world.smsc.answerBinds(status.ok);
  world.carrier.setShare({ binds: 2, rate: 0 });
  await world.ready();

  world.carrier.setShare({ binds: 1, rate: 0 });

  assert.deepEqual(states(), ["bound"]);
});

test("a bind refused because others hold too many is retried once they may have let go, any other in its time", async () => {
  for (const [refusal, isBound] of [
    [status.alreadyBound, true],
    [status.invalidPassword, false],
  ] as const) {
    const clock = manualClock();
    await using world = await smppWorld({
      clock,
      settings: { reconnect_already_bound: "2s-4s" },
      smsc: { bind: refusal },
    });
    const state = () => world.carrier.state().links[0]?.state;
    const waits = () => state() === "connection_lost" || state() === "refused";
    await until("it waits", waits);
    world.smsc.answerBinds(status.ok);

    world.carrier.tryAgain();

    assert.equal(waits(), !isBound);
    if (!isBound) continue;
    await world.ready();
    // Neither the end of the wait nor another try opens another link in its place.
    world.carrier.tryAgain();
    clock.advance(5_000);
    await quiet();
    assert.equal(state(), "bound");
    assert.equal(world.smsc.pduCount(command.bindTransceiver), 2);
  }
});

test("after a retry on request, the wait for others to let go is as short as at first", async () => {
  const clock = manualClock();
  await using world = await smppWorld({
    clock,
    settings: { reconnect_already_bound: "2s-4s" },
    smsc: { bind: status.alreadyBound },
  });
  const refused = (nth: number) =>
    until(`bind ${nth} is refused`, () => {
      const isTried = world.smsc.pduCount(command.bindTransceiver) === nth;
      return isTried && world.carrier.state().links[0]?.state === "connection_lost";
    });
  await refused(1);

  world.carrier.tryAgain();
  await refused(2);
  clock.advance(2000);

  await refused(3);
});

test("waiting segments do not leave all at once when the last bind is taken away", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, share: { binds: 1, rate: 10 } });
  const submits = Array.from({ length: 5 }, () => world.submit());
  await submits[0];

  world.carrier.setShare({ binds: 0, rate: 0 });
  const outcomes = await Promise.all(submits);

  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["accepted", "unsent", "unsent", "unsent", "unsent"],
  );
});

test("the state shows each bind, its window and its counts", async () => {
  await using world = await boundWorld({ smsc: { answer: "never" } });
  world.smsc.answer("accept");
  await world.submit();
  await world.receiptArrived();
  world.smsc.answer("never");
  const open = world.submit();
  await world.smsc.submitArrived(2);

  const state = world.carrier.state();

  assert.partialDeepStrictEqual(state, {
    state: "up",
    links: [{ bind: "transceiver", state: "bound", windowInUse: 1, problem: null }],
    counts: { accepted: 1, receipts: 1, inDoubt: 0 },
  });
  assert.ok(state.submitsPerSecond > 0 && state.receiptsPerSecond > 0);
  assert.ok((state.responseMs?.p50 ?? 0) > 0);
  world.smsc.dropConnections();
  await open;
});
