import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { boundWorld, receiptSaying, type SmppWorld } from "../../../test/support/smpp.ts";
import { until } from "../../../test/support/until.ts";
import { encodeShortMessage, type ShortMessage } from "./codec/body.ts";
import { bare, command, HEADER_OCTETS } from "./codec/header.ts";
import { encodeTlvs, tag } from "./codec/tlv.ts";

const TEXT =
  "id:77 sub:001 dlvrd:001 submit date:2611150930 done date:2611150931 stat:DELIVRD err:000 text:Hello";
const NOTHING = Buffer.alloc(0);
const OK = 0;
const PERMANENT = 0x65;

/** A sequence number that the SMSC itself never uses. */
const SEQUENCE = 4711;

const receiptId = { tag: tag.receiptedMessageId, value: Buffer.from("77\0") };
const receiptState = { tag: tag.messageState, value: Buffer.of(2) };

function receipt(given: Partial<ShortMessage<Buffer>> = {}, sequence = SEQUENCE): Buffer {
  const head = { commandId: command.deliverSm, status: 0, sequence };
  return encodeShortMessage(head, receiptSaying(TEXT, given));
}

function lengthened(pdu: Buffer, ...junk: number[]): Buffer {
  const longer = Buffer.concat([pdu, Buffer.from(junk)]);
  longer.writeUInt32BE(longer.length, 0);
  return longer;
}

function withSmLength(length: number): Buffer {
  const pdu = receipt();
  pdu[pdu.length - TEXT.length - 1] = length;
  return pdu;
}

type Case = { octets: Buffer; answers: number[]; receipts: number; sequence?: number };

const understood: Record<string, Case> = {
  "a valid receipt": { octets: receipt(), answers: [OK], receipts: 1 },
  "three receipts in one write": {
    octets: Buffer.concat([receipt(), receipt(), receipt()]),
    answers: [OK, OK, OK],
    receipts: 3,
  },
  "a service_type of 40 characters": {
    octets: receipt({ serviceType: "x".repeat(40) }),
    answers: [OK],
    receipts: 1,
  },
  "one octet of junk at the end": { octets: lengthened(receipt(), 9), answers: [OK], receipts: 1 },
  "three octets of junk at the end": {
    octets: lengthened(receipt(), 9, 9, 9),
    answers: [OK],
    receipts: 1,
  },
  'a validity_period of "R"': {
    octets: receipt({ validityPeriod: "R" }),
    answers: [OK],
    receipts: 1,
  },
  "the sequence number 0xFFFFFFFF": {
    octets: receipt({}, 0xffffffff),
    answers: [OK],
    receipts: 1,
    sequence: 0xffffffff,
  },
  "the sequence number 0": { octets: receipt({}, 0), answers: [OK], receipts: 1, sequence: 0 },
  "an integer TLV without octets": {
    octets: receipt({ tlvs: encodeTlvs([{ tag: tag.messageState, value: NOTHING }]) }),
    answers: [OK],
    receipts: 1,
  },
  "a TLV longer than the PDU": {
    octets: receipt({ tlvs: Buffer.of(0x00, 0x1e, 0xff, 0xff, 0x37) }),
    answers: [OK],
    receipts: 1,
  },
  "a user data header past the end": {
    octets: receipt({ esmClass: 0x44, shortMessage: Buffer.from(`\xff${TEXT}`, "latin1") }),
    answers: [OK],
    receipts: 1,
  },
  "the mark of a user data header on an empty message": {
    octets: receipt({
      esmClass: 0x44,
      shortMessage: NOTHING,
      tlvs: encodeTlvs([receiptId, receiptState]),
    }),
    answers: [OK],
    receipts: 1,
  },
  "UCS-2 of odd length": {
    octets: receipt({
      dataCoding: 8,
      shortMessage: Buffer.concat([Buffer.from(TEXT, "utf16le").swap16(), Buffer.of(0)]),
    }),
    answers: [OK],
    receipts: 1,
  },
  "a sm_length past the end": { octets: withSmLength(255), answers: [OK], receipts: 1 },
  "strings without their NUL": {
    octets: receipt().fill(0x41, HEADER_OCTETS),
    answers: [PERMANENT],
    receipts: 0,
  },
  "a body of no octets": {
    octets: bare(command.deliverSm, 0, SEQUENCE),
    answers: [PERMANENT],
    receipts: 0,
  },
  "a receipt of nothing": {
    octets: receipt({ shortMessage: NOTHING }),
    answers: [PERMANENT],
    receipts: 0,
  },
  "a text from a handset": {
    octets: receipt({ esmClass: 0, shortMessage: Buffer.from("Hello") }),
    answers: [OK],
    receipts: 0,
  },
  "a generic_nack with sequence 0": {
    octets: bare(command.genericNack, 3, 0),
    answers: [],
    receipts: 0,
  },
  "an answer to nothing": {
    octets: bare(command.submitSmResp, 0, 999_999),
    answers: [],
    receipts: 0,
  },
  "an answer of an unknown kind": { octets: bare(0x80000099, 0, 1), answers: [], receipts: 0 },
  "an alert_notification": {
    octets: bare(command.alertNotification, 0, 1),
    answers: [],
    receipts: 0,
  },
  "an outbind": { octets: bare(command.outbind, 0, 1), answers: [], receipts: 0 },
};

/** Sends a valid receipt and then an enquire_link: both must be answered, whatever came before. */
async function assertAlive({ smsc, receipts }: SmppWorld, expected: Case): Promise<void> {
  const links = smsc.pduCount(command.enquireLinkResp);
  smsc.sendRaw(receipt({}, SEQUENCE + 1));
  smsc.sendRaw(bare(command.enquireLink, 0, SEQUENCE + 2));
  const answers = expected.answers.length + 1;
  await until("all requests are answered", () => smsc.deliveryAnswers().length >= answers);
  await smsc.pduArrived(command.enquireLinkResp, links + 1);

  assert.equal(receipts.length, expected.receipts + 1, "the receipts that could be used were");
}

for (const [what, expected] of Object.entries(understood)) {
  test(`${what} costs that PDU at most, and is answered as it should be`, async () => {
    await using world = await boundWorld();
    const { smsc } = world;

    smsc.sendRaw(expected.octets);
    await assertAlive(world, expected);

    const { sequence = SEQUENCE } = expected;
    // Answers that need no commit overtake those that do.
    const own = smsc.deliveryAnswers().filter((answer) => answer.sequence !== SEQUENCE + 1);
    assert.deepEqual(
      own,
      expected.answers.map((status) => ({ sequence, status })),
    );
    assert.equal(smsc.connectionCount(), 1, "the connection stands");
    assert.equal(smsc.pduCount(command.genericNack), 0);
  });
}

test("a receipt that arrives octet by octet is the same receipt", async () => {
  await using world = await boundWorld();

  for (const octet of receipt()) {
    world.smsc.sendRaw(Buffer.of(octet));
    await new Promise(setImmediate);
  }

  await assertAlive(world, { octets: NOTHING, answers: [OK], receipts: 1 });
});

test("a request of an unknown kind is refused by generic_nack, and nothing else suffers", async () => {
  await using world = await boundWorld();
  const { smsc } = world;

  smsc.sendRaw(bare(0x42, 0, SEQUENCE));
  const nack = await smsc.pduArrived(command.genericNack);

  assert.deepEqual(nack, { commandId: command.genericNack, status: 0x03, sequence: SEQUENCE });
  await assertAlive(world, { octets: NOTHING, answers: [], receipts: 0 });
});

for (const withBody of [true, false]) {
  test(`a refusal ${withBody ? "with" : "without"} a body refuses that submit`, async () => {
    await using world = await boundWorld({ smsc: { answer: { status: 0x0b, withBody } } });

    const outcome = await world.submit();

    assert.partialDeepStrictEqual(outcome, {
      kind: "refused",
      code: "RECIPIENT_UNKNOWN",
      carrierCode: "0x0B",
    });
    await assertAlive(world, { octets: NOTHING, answers: [], receipts: 0 });
  });
}

for (const length of [0, 4, 15, 2 ** 31]) {
  test(`a command_length of ${length} ends the connection: unanswered submits are in doubt, and a new bind is made`, async () => {
    const clock = manualClock();
    await using world = await boundWorld({ smsc: { answer: "never" }, clock });
    const { smsc, carrier, submit, ready } = world;
    const unanswered = [submit(), submit()];
    await smsc.submitArrived(2);

    const broken = bare(command.enquireLink, 0, 1);
    broken.writeUInt32BE(length, 0);
    smsc.sendRaw(broken);
    const outcomes = await Promise.all(unanswered);
    await smsc.pduArrived(command.genericNack);
    await until("the link waits", () => carrier.state().links[0]?.state === "connection_lost");
    clock.advance(1200);
    await ready();

    assert.deepEqual(outcomes, [
      { kind: "in_doubt", why: "link_lost" },
      { kind: "in_doubt", why: "link_lost" },
    ]);
    assert.equal(smsc.connectionCount(), 2);
    await assertAlive(world, { octets: NOTHING, answers: [], receipts: 0 });
  });
}

test("all of these in one stream, cut at random, give the same receipts and answers each time", async () => {
  const cases = Object.values(understood);
  const stream = Buffer.concat(cases.map(({ octets }) => octets));
  const expected = {
    octets: stream,
    answers: cases.flatMap(({ answers }) => answers),
    receipts: cases.reduce((sum, { receipts }) => sum + receipts, 0),
  };
  for (const seed of [1, 2, 3]) {
    await using world = await boundWorld();

    for (const chunk of cutAtRandom(stream, seed)) {
      world.smsc.sendRaw(chunk);
      await new Promise(setImmediate);
    }

    await assertAlive(world, expected);
    const statuses = world.smsc.deliveryAnswers().map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(ascending), [...expected.answers, OK].toSorted(ascending));
  }
});

function ascending(a: number, b: number): number {
  return a - b;
}

function cutAtRandom(stream: Buffer, seed: number): Buffer[] {
  const chunks: Buffer[] = [];
  let [at, random] = [0, seed];
  while (at < stream.length) {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
    const size = 1 + (random % 97);
    chunks.push(stream.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
