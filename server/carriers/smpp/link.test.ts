import assert from "node:assert/strict";
import { test } from "node:test";

import { type Reply, startSmsc } from "#carriers";
import { type Log, Secret, systemClock } from "#platform";

import { type ManualClock, manualClock } from "../../../test/support/manual-clock.ts";
import {
  boundWorld,
  receiptSaying,
  smppSettings,
  smppWorld,
  type SmppWorld,
} from "../../../test/support/smpp.ts";
import { quiet, until } from "../../../test/support/until.ts";
import { encodeId, encodeShortMessage } from "./codec/body.ts";
import { bare, command } from "./codec/header.ts";
import { status } from "./codec/status.ts";
import { testBind } from "./test-bind.ts";

function stateOf({ carrier }: SmppWorld): string | undefined {
  return carrier.state().links[0]?.state;
}

function ignore(): void {}

function recordingLog(): { log: Log; errors: string[]; warnings: string[] } {
  const errors: string[] = [];
  const warnings: string[] = [];
  const error = (_fields: object, sentence: string) => errors.push(sentence);
  const warn = (_fields: object, sentence: string) => warnings.push(sentence);
  return { errors, warnings, log: { debug: ignore, info: ignore, warn, error } };
}

test("a bind carries the credentials and fields of the carrier's settings", async () => {
  const binds: unknown[] = [];
  await using world = await boundWorld({
    password: "s3cret",
    settings: { system_type: "VMA", addr_ton: 1, addr_npi: 2, address_range: "^49" },
    smsc: {
      bind: (bind) => {
        binds.push(bind);
        return 0;
      },
    },
  });

  assert.equal(world.carrier.state().state, "up");
  assert.deepEqual(binds, [
    {
      systemId: "user",
      password: "s3cret",
      systemType: "VMA",
      interfaceVersion: 0x34,
      addrTon: 1,
      addrNpi: 2,
      addressRange: "^49",
    },
  ]);
});

test("a lost connection comes back after a wait that doubles with each failure", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });
  world.smsc.answerBinds(0x08);

  for (const waitMs of [1000, 2000, 4000]) {
    const connections = world.smsc.connectionCount();
    world.smsc.dropConnections();
    await until("the link waits", () => stateOf(world) === "connection_lost");
    clock.advance(waitMs - 1);
    assert.equal(stateOf(world), "connection_lost");
    clock.advance(1);
    await until("it connects again", () => world.smsc.connectionCount() > connections);
  }
});

const AFTER: Record<
  string,
  { prove: (world: SmppWorld, clock: ManualClock) => unknown; waitsMs: number[] }
> = {
  "lasted makes the next wait short again": {
    prove: (_world, clock) => clock.advance(10_000),
    waitsMs: [1000, 1000, 1000],
  },
  "took a message makes the next wait short again": {
    prove: (world) => world.submit(),
    waitsMs: [1000, 1000, 1000],
  },
  "took nothing and did not last makes the next wait longer": {
    prove: (_world, clock) => clock.advance(9_999),
    waitsMs: [1000, 2000, 4000],
  },
};
for (const [what, { prove, waitsMs }] of Object.entries(AFTER)) {
  test(`a bind that ${what}`, async () => {
    const clock = manualClock();
    await using world = await boundWorld({ clock });

    for (const waitMs of waitsMs) {
      await prove(world, clock);
      world.smsc.dropConnections();
      await until("the link waits", () => stateOf(world) === "connection_lost");
      clock.advance(waitMs - 1);
      assert.equal(stateOf(world), "connection_lost");
      clock.advance(1);
      await world.ready();
    }

    assert.equal(world.carrier.state().counts.reconnects, waitsMs.length);
  });
}

/** Ends the bind, then refuses two more, which leaves the link waiting for four seconds. */
async function loseBind(world: SmppWorld, clock: ManualClock): Promise<void> {
  world.smsc.answerBinds(0x08);
  world.smsc.dropConnections();
  await until("the link waits", () => stateOf(world) === "connection_lost");
  for (const waitMs of [1000, 2000]) {
    const connections = world.smsc.connectionCount();
    clock.advance(waitMs);
    await until("it connects again", () => world.smsc.connectionCount() > connections);
    await until("the link waits", () => stateOf(world) === "connection_lost");
  }
}

test("a link without a bind says since when, however often it has tried again", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });
  const since = () => world.carrier.state().links[0]?.since.getTime();
  clock.advance(5_000);
  const lostAt = clock.now().getTime();

  await loseBind(world, clock);
  assert.equal(since(), lostAt);

  world.smsc.answerBinds(0);
  clock.advance(4000);
  await world.ready();
  assert.equal(since(), lostAt + 7000);
});

test("a bind lost once is one reconnect, however often the carrier refuses another, even when its link is gone", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });

  await loseBind(world, clock);
  assert.equal(world.carrier.state().counts.reconnects, 1);

  world.carrier.setShare({ binds: 0, rate: 0 });
  assert.equal(world.carrier.state().counts.reconnects, 1);
});

test("an SMSC that still holds our old bind is given half a minute, then bound again", async () => {
  const clock = manualClock();
  await using world = await smppWorld({ clock, smsc: { bind: 0x08 } });
  // Failures of another kind do not make that wait any longer.
  for (const code of [0x08, 0x05]) {
    await until("the link waits", () => stateOf(world) === "connection_lost");
    world.smsc.answerBinds(code);
    clock.advance(2000);
  }
  await until("the bind is refused", () => stateOf(world) === "connection_lost");

  world.smsc.answerBinds(0);
  clock.advance(29_999);
  await quiet();
  assert.equal(world.smsc.connectionCount(), 3, "not before");
  clock.advance(1);
  await world.ready();

  assert.equal(stateOf(world), "bound");
});

test("refused credentials raise an alarm and are not tried again for five minutes", async () => {
  const clock = manualClock();
  const { log, errors } = recordingLog();
  await using world = await smppWorld({
    clock,
    log,
    password: "wrong",
    smsc: { credentials: { systemId: "user", password: "right" } },
  });

  await until("the bind is refused", () => stateOf(world) === "refused");
  clock.advance(299_999);
  await quiet();

  assert.equal(world.smsc.connectionCount(), 1);
  assert.equal(errors.length, 1);
  assert.equal(world.carrier.state().state, "down");
  assert.match(world.carrier.state().links[0]?.problem ?? "", /ESME_RINVPASWD \(0x0E\)/);
  clock.advance(1);
  await until("it is tried again", () => world.smsc.connectionCount() === 2);
});

test("an unanswered bind is given up in time and tried again", async () => {
  const clock = manualClock();
  await using world = await smppWorld({ clock, smsc: { bind: "never" } });
  await until("the bind is on its way", () => stateOf(world) === "binding");
  await world.smsc.pduArrived(command.bindTransceiver);

  clock.advance(15_000);
  await until("it is given up", () => stateOf(world) === "connection_lost");

  assert.match(world.carrier.state().links[0]?.problem ?? "", /did not answer the bind/);
});

test("a bind stands if its answer is read while its time-out is being judged", async () => {
  const clock = manualClock();
  await using world = await smppWorld({
    clock,
    smsc: {
      bind: () => {
        // The timer falls due after the answer has left the SMSC and before we read it.
        queueMicrotask(() => setImmediate(() => clock.advance(15_000)));
        return 0;
      },
    },
  });
  await world.smsc.bound();
  await quiet();

  assert.equal(stateOf(world), "bound");
});

test("an unbind from the SMSC is answered, and a new bind is made", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });

  world.smsc.unbindAll();
  await world.smsc.pduArrived(command.unbindResp);
  await until("the link waits", () => stateOf(world) === "connection_lost");
  clock.advance(1000);
  await world.ready();

  assert.equal((await world.submit()).kind, "accepted");
});

/** The carrier unbinds while a submit waits for its answer. */
async function unbound(world: SmppWorld): Promise<{ submitted: ReturnType<SmppWorld["submit"]> }> {
  const submitted = world.submit();
  await world.smsc.submitArrived();
  world.smsc.unbindAll();
  await until("the link is leaving", () => world.carrier.room() === 0);
  return { submitted };
}

test("a carrier that unbinds may still answer what it was handed, and nothing is in doubt", async () => {
  const clock = manualClock();
  const answer = { afterMs: 1000, reply: "accept" } as const;
  await using world = await boundWorld({ clock, smsc: { clock, answer } });
  const submitted = [world.submit(), world.submit()];
  await world.smsc.submitArrived(2);

  world.smsc.unbindAll();
  world.smsc.sendRaw(bare(command.enquireLink, 0, 7));
  await world.smsc.pduArrived(command.enquireLinkResp);
  assert.equal(world.smsc.pduCount(command.unbindResp), 0, "the answers come first");
  clock.advance(1000);
  await world.smsc.pduArrived(command.unbindResp);

  assert.deepEqual(
    (await Promise.all(submitted)).map(({ kind }) => kind),
    ["accepted", "accepted"],
  );
  assert.equal(world.carrier.state().counts.inDoubt, 0);
  await until("the link waits", () => stateOf(world) === "connection_lost");
});

test("a bind that the carrier is ending takes no more, gives back what waits, and says why", async () => {
  const settings = { window: 1 };
  await using world = await boundWorld({ settings, smsc: { answer: "never" } });
  void world.submit();
  const waiting = world.submit();
  await world.smsc.submitArrived();

  world.smsc.unbindAll();

  assert.deepEqual(await waiting, { kind: "unsent" });
  assert.deepEqual(await world.submit(), { kind: "unsent" });
  const { state, links } = world.carrier.state();
  assert.equal(state, "down");
  const problem = "the carrier ended the bind";
  assert.partialDeepStrictEqual(links, [{ state: "bound", windowInUse: 1, problem }]);
});

test("a carrier that unbinds but answers nothing is waited for as long as an unbind may take", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "never" } });
  const { submitted } = await unbound(world);

  clock.advance(4999);
  await quiet();
  assert.equal(world.carrier.state().counts.inDoubt, 0, "not before");
  clock.advance(1);

  assert.deepEqual(await submitted, { kind: "in_doubt", why: "link_lost" });
  await world.smsc.pduArrived(command.unbindResp);
});

test("a carrier that unbinds repeatedly is waited for no longer than one that unbinds once", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "never" } });
  await unbound(world);
  clock.advance(3000);

  world.smsc.unbindAll();
  await quiet();
  clock.advance(2000);
  await quiet();

  assert.equal(world.carrier.state().counts.inDoubt, 1);
});

test("a carrier that unbinds and then drops the connection leaves its submits in doubt at once", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "never" } });
  const { submitted } = await unbound(world);

  world.smsc.dropConnections();

  assert.deepEqual(await submitted, { kind: "in_doubt", why: "link_lost" });
});

test("the carrier's unbind is answered after the receipts in hand", async () => {
  const clock = manualClock();
  const stored = Promise.withResolvers<void>();
  await using world = await boundWorld({
    store: () => stored.promise,
    smsc: { clock, receipts: { when: "before", delayMs: 1000 } },
  });
  const submitted = world.submit();
  await until("the receipt is in hand", () => world.carrier.state().counts.receipts === 1);

  world.smsc.unbindAll();
  clock.advance(1000);
  assert.equal((await submitted).kind, "accepted");
  await quiet();
  assert.equal(world.smsc.pduCount(command.unbindResp), 0, "the receipt is not answered yet");
  stored.resolve();
  await world.smsc.pduArrived(command.unbindResp);

  assert.deepEqual(
    world.smsc.deliveryAnswers().map(({ status }) => status),
    [0],
  );
});

test("a stop while the carrier unbinds waits for the same answers, and sends no unbind of its own", async () => {
  const clock = manualClock();
  const answer = { afterMs: 1000, reply: "accept" } as const;
  await using world = await boundWorld({ clock, smsc: { clock, answer } });
  const { submitted } = await unbound(world);

  const stopped = world.carrier.stop();
  clock.advance(1000);
  await stopped;

  assert.equal((await submitted).kind, "accepted");
  await world.smsc.pduArrived(command.unbindResp);
  assert.equal(world.smsc.pduCount(command.unbind), 0);
});

test("a stop while the carrier unbinds takes no longer than any other stop", async () => {
  const clock = manualClock();
  const settings = { unbind_timeout: "60s" };
  await using world = await boundWorld({ clock, settings, smsc: { answer: "never" } });
  await unbound(world);

  const stopped = world.carrier.stop();
  clock.advance(10_000);
  await stopped;

  await world.smsc.pduArrived(command.unbindResp);
  assert.equal(world.smsc.pduCount(command.unbind), 0);
});

test("an idle link is asked by enquire_link whether it lives, a busy one is not", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });

  clock.advance(29_000);
  await world.submit();
  clock.advance(29_000);
  await quiet();
  assert.equal(world.smsc.pduCount(command.enquireLink), 0);
  assert.equal(world.carrier.state().links[0]?.enquireLinkAt, null);
  clock.advance(1000);
  const askedAt = clock.now();
  await until("it has answered", () => world.carrier.state().links[0]?.enquireLinkAt !== null);

  assert.deepEqual(world.carrier.state().links[0]?.enquireLinkAt, askedAt);
  assert.equal(stateOf(world), "bound");
});

test("a link that does not answer enquire_link is dead, even if its connection stands", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });
  world.smsc.pauseReading();

  clock.advance(30_000);
  clock.advance(10_000);
  await until("the link is given up", () => stateOf(world) === "connection_lost");

  assert.match(world.carrier.state().links[0]?.problem ?? "", /enquire_link/);
});

test("a link that answers a submission is alive, even if it does not answer enquire_link", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });
  world.smsc.pauseReading();
  clock.advance(30_000);

  const submitted = world.submit();
  // Sequence 3 follows the bind and the enquire_link.
  world.smsc.sendRaw(encodeId({ commandId: command.submitSmResp, status: 0, sequence: 3 }, "id"));
  assert.equal((await submitted).kind, "accepted");
  clock.advance(10_000);
  await quiet();

  assert.equal(stateOf(world), "bound");
});

test("a link that sends requests of its own but answers nothing is dead", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock });
  world.smsc.pauseReading();
  clock.advance(30_000);

  const head = { commandId: command.deliverSm, status: 0, sequence: 1 };
  world.smsc.sendRaw(encodeShortMessage(head, receiptSaying("id:1 stat:DELIVRD")));
  await until("it is read", () => world.carrier.state().counts.receipts === 1);
  clock.advance(10_000);

  await until("the link is given up", () => stateOf(world) === "connection_lost");
});

test("an unanswered submit is in doubt after its time, and its place in the window is free again", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    smsc: { answer: "never" },
    settings: { window: 1 },
  });
  const submitted = world.submit();
  await world.smsc.submitArrived();
  assert.equal(world.carrier.room(), 0);

  clock.advance(30_000);

  assert.partialDeepStrictEqual(await submitted, { kind: "in_doubt", why: "timeout" });
  assert.equal(world.carrier.room(), 1);
  assert.equal(stateOf(world), "bound");
});

test("an answer that comes after the time-out is passed on", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    smsc: { clock, answer: { afterMs: 31_000, reply: "accept" } },
  });
  const submitted = world.submit();
  await world.smsc.submitArrived();
  clock.advance(30_000);
  const doubt = await submitted;
  assert.ok(doubt.kind === "in_doubt");

  clock.advance(1000);

  assert.partialDeepStrictEqual(await doubt.lateAnswer, { kind: "accepted" });
  assert.equal(world.carrier.state().counts.lateAnswers, 1);
});

test("waiting for a late answer does not hold up the time-out of the next submit", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "never" } });
  const first = world.submit();
  await world.smsc.submitArrived();
  clock.advance(30_000);
  await first;

  const second = world.submit();
  await world.smsc.submitArrived(2);
  clock.advance(30_000);

  assert.partialDeepStrictEqual(await second, { kind: "in_doubt", why: "timeout" });
});

test("three time-outs in a row end the link and leave the rest of the window in doubt", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "never" } });
  const early = [world.submit(), world.submit(), world.submit()];
  await world.smsc.submitArrived(3);
  clock.advance(1000);
  const late = world.submit();
  await world.smsc.submitArrived(4);

  clock.advance(29_000);
  const outcomes = await Promise.all([...early, late]);

  assert.deepEqual(
    outcomes.map((outcome) => outcome.kind === "in_doubt" && outcome.why),
    ["timeout", "timeout", "timeout", "link_lost"],
  );
  await until("the link waits", () => stateOf(world) === "connection_lost");
});

test("a late answer shows that the bind lives: time-outs before it do not end the link", async () => {
  const clock = manualClock();
  let answer: Reply = { afterMs: 31_000, reply: "accept" };
  await using world = await boundWorld({ clock, smsc: { clock, answer: () => answer } });
  const first = world.submit();
  await world.smsc.submitArrived(1);
  answer = "never";
  clock.advance(30_000);
  const doubt = await first;
  assert.ok(doubt.kind === "in_doubt");
  clock.advance(1000);
  await doubt.lateAnswer;

  const lost = [world.submit(), world.submit()];
  await world.smsc.submitArrived(3);
  clock.advance(30_000);
  await Promise.all(lost);
  await quiet();

  assert.equal(stateOf(world), "bound");
});

test("an answer that comes while others wait does not excuse them: three time-outs end the link", async () => {
  const clock = manualClock();
  let answer: Reply = { afterMs: 200, reply: "accept" };
  await using world = await boundWorld({ clock, smsc: { answer: () => answer } });
  const first = world.submit();
  await world.smsc.submitArrived(1);
  answer = "never";
  clock.advance(100);
  const lost = [world.submit(), world.submit(), world.submit()];
  await world.smsc.submitArrived(4);
  clock.advance(100);
  assert.equal((await first).kind, "accepted");

  // The answered submit's timer fires first and finds nothing to judge.
  clock.advance(29_800);
  await quiet();
  clock.advance(100);
  await Promise.all(lost);

  await until("the link waits", () => stateOf(world) === "connection_lost");
});

test("three submits that time out together do not end a link that has answered later ones", async () => {
  const clock = manualClock();
  let answer: Reply = "never";
  await using world = await boundWorld({ clock, smsc: { answer: () => answer } });
  const lost = [world.submit(), world.submit(), world.submit()];
  await world.smsc.submitArrived(3);
  clock.advance(1000);
  answer = "accept";
  await world.submit();

  clock.advance(29_000);
  const outcomes = await Promise.all(lost);
  await quiet();

  assert.ok(outcomes.every((outcome) => outcome.kind === "in_doubt"));
  assert.equal(stateOf(world), "bound");
});

test("no time-out is declared for an answer that is already in our own buffer", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    clock,
    smsc: {
      answer: () => {
        // The timer falls due after the answer has left the SMSC and before we read it.
        queueMicrotask(() => setImmediate(() => clock.advance(30_000)));
        return "accept";
      },
    },
  });

  assert.equal((await world.submit()).kind, "accepted");
});

test("an answer to no request is logged, but not more often than every ten seconds", async () => {
  const clock = manualClock();
  const { log, warnings } = recordingLog();
  await using world = await boundWorld({ clock, log });

  for (const atMs of [0, 9999, 10_000]) {
    clock.advance(atMs - clock.monotonicMs());
    for (let n = 0; n < 100; n += 1) world.smsc.sendRaw(bare(command.genericNack, 3, 0));
    const before = world.smsc.pduCount(command.enquireLinkResp);
    world.smsc.sendRaw(bare(command.enquireLink, 0, 1));
    await world.smsc.pduArrived(command.enquireLinkResp, before + 1);
  }

  assert.equal(warnings.length, 2);
  assert.match(warnings[0] ?? "", /something odd/);
});

test("a connection lost after a submit leaves it in doubt, and the link comes back", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ clock, smsc: { answer: "drop" } });

  assert.deepEqual(await world.submit(), { kind: "in_doubt", why: "link_lost" });

  world.smsc.answer("accept");
  await until("the link waits", () => stateOf(world) === "connection_lost");
  clock.advance(1000);
  await world.ready();
  assert.equal((await world.submit()).kind, "accepted");
});

test("without a bind a submit goes back unsent, at once", async () => {
  await using world = await smppWorld({ smsc: { bind: "never" } });

  assert.deepEqual(await world.submit(), { kind: "unsent" });
  assert.equal(world.carrier.room(), 0);
});

test("a test of the bind says in words what happened", async () => {
  await using smsc = await startSmsc({ credentials: { systemId: "user", password: "right" } });
  const settings = smppSettings({ port: smsc.port, bind: "pair" });
  const test = (password: string) =>
    testBind({
      settings,
      password: new Secret(password),
      clock: systemClock,
      isHeld: async () => false,
    });

  const good = await test("right");
  assert.equal(
    smsc.pduCount(command.unbind),
    2,
    "no bind is left open, which the carrier would count",
  );
  const bad = await test("wrong");
  const { port } = smsc;
  await smsc.stop();
  const gone = await test("right");

  assert.equal(good.isBound, true);
  assert.equal(
    good.sentence,
    ["transmitter", "receiver"]
      .map((bind) => `Bound to 127.0.0.1:${port} as ${bind} user, and it answers.`)
      .join(" "),
  );
  assert.equal(bad.isBound, false);
  assert.match(
    bad.sentence,
    /refused the bind: ESME_RINVPASWD .*Check the system id and the password\.$/,
  );
  assert.equal(gone.isBound, false);
  const words = "the carrier refused the connection (ECONNREFUSED)";
  assert.equal(
    gone.sentence,
    `No bind to 127.0.0.1:${port} as transmitter: ${words}. Check host and port, and that the carrier lets your address connect.`,
  );
});

test("a bind refused for its system type says which setting to fix, and blames no credentials", async () => {
  const { log, errors } = recordingLog();
  await using world = await smppWorld({ log, smsc: { bind: status.invalidSystemType } });

  await until("the bind is refused", () => stateOf(world) === "refused");

  const told = [...errors, world.carrier.state().links[0]?.problem ?? ""];
  assert.equal(told.length, 2);
  for (const sentence of told) {
    assert.match(sentence, /ESME_RINVSYSTYP \(0x53\); .* --system-type$/);
    assert.doesNotMatch(sentence, /credentials/);
  }
});

test("a test of a pair says which of its binds was refused", async () => {
  let binds = 0;
  await using smsc = await startSmsc({
    bind: () => (++binds === 1 ? status.ok : status.bindFailed),
  });

  const { isBound, sentence } = await testBind({
    settings: smppSettings({ port: smsc.port, bind: "pair" }),
    password: new Secret("secret"),
    clock: systemClock,
    isHeld: async () => false,
  });

  assert.equal(isBound, false);
  assert.match(
    sentence,
    /^No bind to [^ ]+ as receiver: the carrier refused the bind: ESME_RBINDFAIL/,
  );
});

test("a carrier that does not know transceivers is said to need a pair", async () => {
  await using smsc = await startSmsc({ bind: status.invalidCommandId });
  const test = async (bind: string) => {
    const { sentence } = await testBind({
      settings: smppSettings({ port: smsc.port, bind }),
      password: new Secret("secret"),
      clock: systemClock,
      isHeld: async () => false,
    });
    return sentence;
  };

  assert.match(await test("transceiver"), /ESME_RINVCMDID \(0x03\); .* --bind pair\.$/);
  assert.match(await test("pair"), /ESME_RINVCMDID \(0x03\)\.$/);
});

test("a receipt during a test of the bind is refused for now, so that the carrier repeats it to the service", async () => {
  const head = { commandId: command.deliverSm, status: 0, sequence: 9 };
  const receipt = encodeShortMessage(head, receiptSaying("id:1 stat:DELIVRD"));
  await using smsc = await startSmsc();
  smsc.answerBinds(() => {
    // After the answer to the bind, and before the answer to enquire_link.
    queueMicrotask(() => smsc.sendRaw(receipt));
    return status.ok;
  });

  const { isBound } = await testBind({
    settings: smppSettings({ port: smsc.port }),
    password: new Secret("secret"),
    clock: systemClock,
    isHeld: async () => false,
  });

  assert.ok(isBound);
  assert.deepEqual(smsc.deliveryAnswers(), [{ sequence: 9, status: status.temporaryAppError }]);
});

test("a test of the only allowed bind finds the carrier up while the service holds it", async () => {
  await using smsc = await startSmsc({ bind: status.alreadyBound });
  const settings = smppSettings({ port: smsc.port });
  const test = (isHeld: boolean) =>
    testBind({
      settings,
      password: new Secret("secret"),
      clock: systemClock,
      isHeld: async () => isHeld,
    });

  const held = await test(true);
  const taken = await test(false);

  const sentence = `The service holds the only bind that 127.0.0.1:${smsc.port} allows.`;
  assert.deepEqual(held, { isBound: true, sentence });
  assert.equal(taken.isBound, false);
  assert.match(taken.sentence, /ESME_RALYBND .*Another program uses this system id/);
});
