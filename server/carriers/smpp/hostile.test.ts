import assert from "node:assert/strict";
import { test } from "node:test";

import type { Receipt, ReceiptScript, SubmitOutcome } from "#carriers";
import { silentLog } from "#platform";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { boundWorld, receiptSaying, smppWorld } from "../../../test/support/smpp.ts";
import { quiet, until } from "../../../test/support/until.ts";
import { encodeShortMessage } from "./codec/body.ts";
import { bare, command } from "./codec/header.ts";
import { encodeTlvs, tag } from "./codec/tlv.ts";

/** Whether the receipt finds the submission that got this answer. */
function isOf(receipt: Receipt, outcome: SubmitOutcome): boolean {
  return outcome.kind === "accepted" && receipt.carrierMessageIds.includes(outcome.matchId);
}

test("a receipt that overtakes its answer is stored and answered, and the answer still counts", async () => {
  const clock = manualClock();
  await using world = await boundWorld({
    smsc: { clock, receipts: { when: "before", delayMs: 300 } },
  });
  const submitted = world.submit();

  const receipt = await world.receiptArrived();
  await world.smsc.pduArrived(command.deliverSmResp);
  clock.advance(300);

  assert.ok(isOf(receipt, await submitted));
});

test("an answer and its receipt in one write are both understood", async () => {
  await using world = await boundWorld({ smsc: { receipts: { when: "with_answer" } } });

  const outcome = await world.submit();

  assert.ok(isOf(await world.receiptArrived(), outcome));
});

const forms: Record<string, Partial<ReceiptScript>> = {
  "in text": { form: "text" },
  "in TLVs only": { form: "tlvs" },
  "in both": { form: "text_and_tlvs" },
  "in message_payload": { form: "payload" },
  "in a data_sm": { form: "data_sm" },
  "with a service_type of 8 octets": { serviceType: "whatsapp" },
  "with esm_class 0": { esmClass: 0 },
};

for (const [what, receipts] of Object.entries(forms)) {
  test(`a receipt ${what} is matched, stored and answered`, async () => {
    await using world = await boundWorld({ smsc: { receipts } });

    const outcome = await world.submit("4915112345678");
    const receipt = await world.receiptArrived();
    await until("it is answered", () => world.smsc.deliveryAnswers().length === 1);

    assert.ok(isOf(receipt, outcome));
    assert.partialDeepStrictEqual(receipt, {
      carrierId: "carrier-1",
      state: "DELIVRD",
      effect: "delivered",
      recipient: "4915112345678",
    });
    assert.equal(world.smsc.deliveryAnswers()[0]?.status, 0);
  });
}

const spellings: Record<
  string,
  { newId: () => string; spellId: (id: string) => string; rule: string }
> = {
  "hex in the answer, padded decimal in the receipt": {
    newId: () => "0A2B3C4D",
    spellId: (id) => String(Number.parseInt(id, 16)).padStart(12, "0"),
    rule: "hex_to_decimal",
  },
  "decimal in the answer, hex in the receipt": {
    newId: () => "170605645",
    spellId: (id) => Number(id).toString(16).padStart(10, "0"),
    rule: "decimal_to_hex",
  },
  "zeros and case": {
    newId: () => "00aB",
    spellId: () => "AB",
    rule: "exact,strip_zeros,fold_case",
  },
  "spaces around that of the answer": {
    newId: () => " 77 ",
    spellId: (id) => id.trim(),
    rule: "exact",
  },
  "19 digits": { newId: () => "9223372036854775807", spellId: (id) => id, rule: "exact" },
  "64 hex digits": { newId: () => "f".repeat(64), spellId: (id) => id, rule: "exact" },
};

for (const [what, { newId, spellId, rule }] of Object.entries(spellings)) {
  test(`an id is matched by the carrier's rule: ${what}`, async () => {
    await using world = await boundWorld({
      smsc: { newId, receipts: { spellId } },
      settings: { receipt_id: rule },
    });

    const outcome = await world.submit();

    assert.ok(isOf(await world.receiptArrived(), outcome));
    assert.partialDeepStrictEqual(outcome, { carrierMessageId: newId().trim() });
  });
}

test("a generic_nack refuses the submit it belongs to, and the link is unharmed", async () => {
  await using world = await boundWorld({
    smsc: { answer: ({ recipient }) => (recipient.endsWith("1") ? { nack: 0x0b } : "accept") },
  });

  const [refused, accepted] = await Promise.all([
    world.submit("4915112341"),
    world.submit("4915112342"),
  ]);

  assert.partialDeepStrictEqual(refused, {
    kind: "refused",
    temporary: false,
    code: "RECIPIENT_UNKNOWN",
    carrierCode: "0x0B",
  });
  assert.equal(accepted.kind, "accepted");
  assert.equal(world.smsc.connectionCount(), 1);
});

test("a generic_nack that gives no reason is still a refusal, never an acceptance", async () => {
  await using world = await boundWorld({ smsc: { answer: { nack: 0 } } });

  assert.partialDeepStrictEqual(await world.submit(), { kind: "refused", temporary: false });
});

test("every receipt of a contradictory series reaches the sink in order, and each is answered once", async () => {
  const states = ["ENROUTE", "DELIVRD", "DELIVRD", "UNDELIV"];
  await using world = await boundWorld({ smsc: { receipts: { states } } });

  await world.submit();
  await world.receiptArrived(4);
  await until("all are answered", () => world.smsc.deliveryAnswers().length === 4);

  assert.deepEqual(
    world.receipts.map(({ state }) => state),
    states,
  );
});

test("a doubled answer settles the submit once and harms nothing", async () => {
  await using world = await boundWorld({ smsc: { answer: "accept_twice" } });

  const outcomes = [await world.submit(), await world.submit()];

  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["accepted", "accepted"],
  );
  assert.equal(world.carrier.state().counts.accepted, 2);
});

test("an acceptance without an id is still an acceptance, and is counted", async () => {
  await using world = await boundWorld({ smsc: { newId: () => "", receipts: { when: "never" } } });

  const outcome = await world.submit();

  assert.deepEqual(outcome, { kind: "accepted", carrierMessageId: "", matchId: "" });
  assert.equal(world.carrier.state().counts.acceptedWithoutId, 1);
});

test("a subscriber's text, an unreadable receipt and an unknown state are answered, and counted", async () => {
  await using world = await boundWorld();
  const deliver = (sequence: number, text: string, esmClass = 0x04) =>
    encodeShortMessage(
      { commandId: command.deliverSm, status: 0, sequence },
      receiptSaying(text, { esmClass }),
    );

  world.smsc.sendRaw(deliver(1, "Hello, when do you open?", 0));
  world.smsc.sendRaw(deliver(2, "no id, no state"));
  world.smsc.sendRaw(deliver(3, "id:1 stat:PONDERED err:000"));
  await world.smsc.pduArrived(command.deliverSmResp, 3);

  assert.deepEqual(
    world.smsc.deliveryAnswers().toSorted((a, b) => a.sequence - b.sequence),
    [
      { sequence: 1, status: 0 },
      { sequence: 2, status: 0x65 },
      { sequence: 3, status: 0 },
    ],
  );
  assert.partialDeepStrictEqual(world.carrier.state().counts, {
    inboundTexts: 1,
    unreadable: 1,
    unknownStates: 1,
    receipts: 1,
  });
});

test("a refused number fails only that number; the bind goes on", async () => {
  await using world = await boundWorld({
    smsc: { answer: ({ recipient }) => (recipient.endsWith("1") ? { status: 0x0b } : "accept") },
  });

  await world.submit("4915112341");

  assert.equal((await world.submit("4915112342")).kind, "accepted");
  assert.deepEqual(world.carrier.state().statuses, { "0x0B": 1 });
  assert.equal(world.smsc.connectionCount(), 1);
});

test("a status that the carrier's settings classify otherwise is treated as they say", async () => {
  await using world = await boundWorld({
    smsc: { answer: { status: 0x45 } },
    settings: { status_classes: { "0x45": { class: "temporary" } } },
  });

  assert.partialDeepStrictEqual(await world.submit(), {
    kind: "refused",
    temporary: true,
    carrierCode: "0x45",
  });
});

test("a bind that the carrier claims not to know is ended in order and made again, and the log says why", async () => {
  const clock = manualClock();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_: object, sentence: string) => warnings.push(sentence) };
  await using world = await boundWorld({ clock, log, smsc: { answer: { status: 0x04 } } });

  const outcome = await world.submit();
  await world.smsc.pduArrived(command.unbind);
  await until("the link waits", () => world.carrier.state().links[0]?.state === "connection_lost");
  world.smsc.answer("accept");
  clock.advance(1200);
  await world.ready();

  assert.partialDeepStrictEqual(outcome, { kind: "refused", temporary: true, carrierCode: "0x04" });
  assert.equal((await world.submit()).kind, "accepted");
  const said = "no bind to acme: the carrier denies the bind: ESME_RINVBNDSTS (0x04)";
  assert.deepEqual(warnings, [said]);
});

test("a stop while a denied bind is being ended waits for the answer to that unbind", async () => {
  await using world = await boundWorld({
    clock: manualClock(),
    smsc: { answer: { status: 0x04 } },
  });
  await world.submit();
  world.smsc.pauseReading();
  await quiet();

  let isStopped = false;
  const stopped = world.carrier.stop().then(() => (isStopped = true));
  await quiet();

  assert.equal(isStopped, false);
  world.smsc.resumeReading();
  await stopped;
});

test("a bind that takes other messages is kept, whatever the carrier answers to one of them", async () => {
  const odd = "4366412345678";
  const clock = manualClock();
  const answer = ({ recipient }: { recipient: string }) =>
    recipient === odd ? ({ status: 0x04 } as const) : "accept";
  await using world = await boundWorld({ clock, smsc: { answer } });
  const isBound = () => world.carrier.state().links[0]?.state === "bound";

  await world.submit(odd);
  await until("the link waits", () => !isBound());
  clock.advance(1200);
  await world.ready();
  for (const recipient of [odd, odd, odd, "4915112345678", odd, odd, odd])
    await world.submit(recipient);

  assert.equal((await world.submit()).kind, "accepted");
  assert.equal(world.carrier.state().counts.reconnects, 1, "made anew once, which did not help");
});

test("a bind that took messages is made again once it denies two in a row", async () => {
  await using world = await boundWorld();
  await world.submit();
  world.smsc.answer({ status: 0x04 });

  await world.submit();
  assert.equal(world.carrier.state().takesMessages, true);
  await world.submit();

  assert.equal(world.carrier.state().takesMessages, false);
});

test("a text that the carrier's alphabet cannot hold is refused by us and never sent", async () => {
  await using world = await boundWorld({ settings: { alphabet: "ascii" } });

  const outcome = await world.submit("4915112345678", { text: "naïve" });

  assert.deepEqual(outcome, {
    kind: "refused",
    temporary: false,
    throttled: false,
    code: "CONTENT_REJECTED",
    carrierCode: null,
  });
  assert.equal(world.smsc.submitCount(), 0);
});

test("a receipt may come on any bind of the carrier", async () => {
  await using world = await boundWorld({
    share: { binds: 2, rate: 0 },
    smsc: { receipts: { onAnyConnection: true } },
  });
  await world.smsc.bound(2);

  const outcomes = [await world.submit(), await world.submit()];
  await world.receiptArrived(2);

  assert.ok(outcomes.every((outcome) => world.receipts.some((receipt) => isOf(receipt, outcome))));
});

test("a transmitter submits and its receiver takes the receipts", async () => {
  await using world = await boundWorld({ settings: { bind: "pair" } });
  await world.smsc.bound(2);

  const outcome = await world.submit();

  assert.ok(isOf(await world.receiptArrived(), outcome));
  assert.deepEqual(
    world.carrier.state().links.map(({ bind, state }) => [bind, state]),
    [
      ["transmitter", "bound"],
      ["receiver", "bound"],
    ],
  );
});

test("a carrier that only receives is up, and takes no messages", async () => {
  await using world = await smppWorld({ settings: { bind: "receiver" } });

  await until("it is up", () => world.carrier.state().state === "up");

  assert.equal(world.carrier.state().takesMessages, false);
  assert.deepEqual(await world.submit(), { kind: "unsent" });
});

test("a pair that has lost its transmitter is down, and takes nothing that it could not send", async () => {
  const settings = { bind: "pair", reconnect: "60s-60s" };
  await using world = await boundWorld({ settings });
  await world.smsc.bound(2);

  world.smsc.answer("unbind");
  void world.submit();
  await until("its transmitter is lost", () => world.carrier.room() === 0);
  await until("it is down", () => world.carrier.state().state === "down");

  assert.deepEqual(await world.submit(), { kind: "unsent" });
  assert.equal(world.carrier.state().links[1]?.state, "bound");
});

test("an id that no table could look up is kept in part, and matches nothing", async () => {
  const id = "x".repeat(4_000);
  await using world = await boundWorld({ smsc: { newId: () => id } });

  const kept = { carrierMessageId: id.slice(0, 255), matchId: "" };
  assert.deepEqual(await world.submit(), { kind: "accepted", ...kept });
});

test("only some thousand octets of a receipt of 70,000 are held until it is stored", async () => {
  await using world = await boundWorld();
  const pdu = encodeShortMessage(
    { commandId: command.deliverSm, status: 0, sequence: 4711 },
    receiptSaying("id:7 stat:DELIVRD", {
      source: { ton: 1, npi: 1, address: "4".repeat(30_000) },
      tlvs: encodeTlvs([{ tag: tag.messagePayload, value: Buffer.alloc(40_000, "x") }]),
    }),
  );

  world.smsc.sendRaw(pdu);
  const { raw, ...said } = await world.receiptArrived();

  assert.equal(raw?.length, 2048);
  assert.ok(raw.buffer.byteLength < pdu.length, "nothing holds the rest");
  assert.ok(JSON.stringify(said).length < 1024);
});

test("10,000 receipts at once are stored in batches of at most 2,000, and each is answered once", async () => {
  let largest = 0;
  await using world = await boundWorld({
    store: async (batch) => {
      largest = Math.max(largest, batch.length);
      await new Promise(setImmediate);
    },
    smsc: { receipts: { states: Array.from({ length: 10_000 }, () => "DELIVRD") } },
  });

  await world.submit();
  await world.receiptArrived(10_000);
  await until("all are answered", () => world.smsc.deliveryAnswers().length === 10_000);

  const sequences = new Set(world.smsc.deliveryAnswers().map(({ sequence }) => sequence));
  assert.equal(sequences.size, 10_000);
  assert.equal(world.receipts.length, 10_000);
  assert.ok(largest <= 2000, `a batch of ${largest}`);
});

test("a flood of requests leaves every turn of the event loop to others, and each is answered", async () => {
  const [flood, perTurn] = [200_000, 8_192];
  let [inTurn, most, isOver] = [0, 0, false];
  const log = {
    ...silentLog,
    info: (fields: object) => {
      if ("direction" in fields && fields.direction === "received") inTurn += 1;
      most = Math.max(most, inTurn);
    },
  };
  const countTurns = () => {
    inTurn = 0;
    if (!isOver) setImmediate(countTurns);
  };
  await using world = await boundWorld({ log, settings: { pdu_log: "headers" } });

  countTurns();
  const asked = bare(command.enquireLink, 0, 7);
  world.smsc.sendRaw(Buffer.alloc(flood * asked.length, asked));
  await until("all are answered", () => world.smsc.pduCount(command.enquireLinkResp) === flood);
  isOver = true;

  assert.ok(most <= perTurn, `${most} were read in one turn`);
});

test("a receipt that cannot be stored is refused for now, and taken when the carrier repeats it", async () => {
  const clock = manualClock();
  let isAway = true;
  await using world = await boundWorld({
    clock,
    smsc: { repeatMs: 1 },
    store: async () => {
      if (isAway) throw new Error("the database is away");
    },
  });

  await world.submit();
  await until("it is asked to repeat", () => {
    clock.advance(100);
    return world.smsc.deliveryAnswers().length > 0;
  });
  isAway = false;
  await until("it is stored", () => {
    clock.advance(100);
    return world.receipts.length > 0;
  });
  await until("it is answered", () => world.smsc.deliveryAnswers().at(-1)?.status === 0);

  assert.equal(world.smsc.deliveryAnswers()[0]?.status, 0x64);
});

for (const mode of ["udh", "sar", "payload"]) {
  test(`segments in the mode ${mode} reach the SMSC as one long message`, async () => {
    await using world = await boundWorld({ settings: { long_messages: mode } });
    const parts = mode === "payload" ? ["a".repeat(200)] : ["a".repeat(153), "a".repeat(47)];

    await Promise.all(
      parts.map((text, index) =>
        world.submit("4915112345678", {
          text,
          segment: index + 1,
          segments: parts.length,
          concatReference: 201,
        }),
      ),
    );

    const received = world.smsc.received();
    assert.equal(received.map(({ text }) => text).join(""), "a".repeat(200));
    const reference = { reference: 201, total: 2 };
    const expected =
      mode === "payload"
        ? [null]
        : [
            { ...reference, number: 1 },
            { ...reference, number: 2 },
          ];
    assert.deepEqual(
      received.map(({ concatenation }) => concatenation),
      expected,
    );
    assert.equal(world.carrier.wholeMessages, mode === "payload");
  });
}
