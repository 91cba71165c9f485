import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import type { SubmitOutcome } from "#carriers";

import { boundWorld, receiptSaying, type SmppWorld } from "../../../test/support/smpp.ts";
import { until } from "../../../test/support/until.ts";
import { encodeId, encodeShortMessage } from "./codec/body.ts";
import { bare, command } from "./codec/header.ts";
import { encodeTlvs, tag } from "./codec/tlv.ts";

const receipt = encodeShortMessage(
  { commandId: command.deliverSm, status: 0, sequence: 9 },
  receiptSaying("id:77 sub:001 dlvrd:001 stat:DELIVRD err:000 text:Hello", {
    tlvs: encodeTlvs([{ tag: tag.messageState, value: Buffer.of(2) }]),
  }),
);

/** Everything an SMSC may send, and some things that it may not. */
const fixtures = [
  receipt,
  encodeId({ commandId: command.submitSmResp, status: 0, sequence: 2 }, "id-1"),
  encodeId({ commandId: command.submitSmResp, status: 0x58, sequence: 3 }, ""),
  encodeId({ commandId: command.bindTransceiverResp, status: 0, sequence: 1 }, "smsc"),
  bare(command.enquireLink, 0, 4),
  bare(command.enquireLinkResp, 0, 4),
  bare(command.genericNack, 3, 5),
  bare(command.dataSm, 0, 6),
  bare(command.alertNotification, 0, 7),
  bare(0x77, 0, 8),
];

type Damage = {
  fixture: number;
  at: number;
  value: number;
  how: "whole" | "flip" | "cut" | "grow" | "length";
};

const damage: fc.Arbitrary<Damage> = fc.record({
  fixture: fc.nat(fixtures.length - 1),
  at: fc.nat(200),
  value: fc.integer({ min: 0, max: 255 }),
  how: fc.constantFrom("whole", "flip", "flip", "flip", "cut", "grow", "length"),
});

function damaged({ fixture, at, value, how }: Damage): Buffer {
  const pdu = Buffer.from(fixtures[fixture] as Buffer);
  const place = at % pdu.length;
  switch (how) {
    case "whole":
      return pdu;
    case "flip":
      // After command_length, so that only this PDU is damaged.
      pdu[Math.max(4, place)] = value;
      return pdu;
    case "cut":
      return withLength(pdu.subarray(0, Math.max(16, place)));
    case "grow":
      return withLength(Buffer.concat([pdu, Buffer.alloc(at, value)]));
    case "length":
      pdu[place % 4] = value;
      return pdu;
  }
}

function withLength(pdu: Buffer): Buffer {
  pdu.writeUInt32BE(pdu.length, 0);
  return pdu;
}

/** Sends a valid receipt until one is answered: the previous connection may be beyond repair. */
async function assertAlive(world: SmppWorld): Promise<void> {
  const answered = () => world.smsc.deliveryAnswers().length;
  const before = answered();
  let triedOn = 0;
  await until("a valid receipt is answered", () => {
    const isNew = world.smsc.connectionCount() !== triedOn && world.carrier.room() > 0;
    if (isNew) {
      triedOn = world.smsc.connectionCount();
      world.smsc.sendRaw(receipt);
    }
    return answered() > before;
  });
}

test("whatever an SMSC sends, every submit settles once and a valid receipt is still answered", async () => {
  await using world = await boundWorld({
    settings: {
      reconnect: "10ms-20ms",
      reconnect_refused: "10ms-20ms",
      response_timeout: "2s",
      window: 100,
    },
    smsc: { answer: "never" },
  });
  const submits: Promise<SubmitOutcome>[] = [];
  let settled = 0;
  const rounds = fc.sample(fc.array(damage, { minLength: 1, maxLength: 12 }), {
    numRuns: 60,
    seed: 20_261_115,
  });

  for (const round of rounds) {
    await world.ready();
    const submit = world.submit();
    submits.push(submit);
    void submit.then(() => (settled += 1));
    world.smsc.sendRaw(Buffer.concat(round.map(damaged)));
  }
  await until("the last connection is quiet", () => world.carrier.room() > 0);
  // A length larger than what was sent waits for the rest; a new connection ends the wait.
  world.smsc.dropConnections();
  await world.ready();
  await assertAlive(world);
  await Promise.all(submits);

  assert.equal(settled, rounds.length);
  assert.equal(world.carrier.state().state, "up");
});
