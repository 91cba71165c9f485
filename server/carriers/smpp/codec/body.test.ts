import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import {
  encodeBind,
  encodeId,
  encodeShortMessage,
  readBind,
  readDataSm,
  readId,
  readShortMessage,
  shortMessageOctets,
  unused,
} from "./body.ts";
import { command, readCommandId, readSequence, readStatus } from "./header.ts";
import { encodeTlvs, findTlv, findTlvInteger, tag } from "./tlv.ts";

/** Plain objects, as the reader makes them. */
const record = <Shape extends object>(shape: { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }) =>
  fc.record(shape, { noNullPrototype: true });

const octet = fc.integer({ min: 0, max: 255 });
const uint32 = fc.integer({ min: 0, max: 0xffffffff });
const latin1 = fc.string({
  unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 70,
});
const address = record({ ton: octet, npi: octet, address: latin1 });
const head = record({ commandId: uint32, status: uint32, sequence: uint32 });
const tlv = record({
  tag: fc.integer({ min: 1, max: 0xffff }),
  value: fc.uint8Array({ maxLength: 300 }),
});

const shortMessage = record({
  serviceType: latin1,
  source: address,
  destination: address,
  esmClass: octet,
  protocolId: octet,
  priority: octet,
  scheduleDeliveryTime: latin1,
  validityPeriod: latin1,
  registeredDelivery: octet,
  replaceIfPresent: octet,
  dataCoding: octet,
  defaultMessageId: octet,
  shortMessage: fc.uint8Array({ maxLength: 255 }).map((octets) => Buffer.from(octets)),
  tlvs: fc.array(tlv, { maxLength: 4 }).map(encodeTlvs),
});

test("a submit_sm written and read again is the same, header and all", () => {
  fc.assert(
    fc.property(head, shortMessage, (given, message) => {
      const pdu = encodeShortMessage(given, message);

      assert.deepEqual(readShortMessage(pdu), message);
      assert.equal(pdu.length, shortMessageOctets(message));
      assert.equal(pdu.readUInt32BE(0), pdu.length);
      const read = {
        commandId: readCommandId(pdu),
        status: readStatus(pdu),
        sequence: readSequence(pdu),
      };
      assert.deepEqual(read, given);
    }),
  );
});

test("a bind written and read again is the same, even if longer than the protocol allows", () => {
  const bind = record({
    systemId: latin1,
    password: latin1,
    systemType: latin1,
    interfaceVersion: octet,
    addrTon: octet,
    addrNpi: octet,
    addressRange: latin1,
  });
  fc.assert(
    fc.property(bind, uint32, (given, sequence) => {
      const pdu = encodeBind(command.bindTransceiver, sequence, given);

      assert.deepEqual(readBind(pdu), given);
      assert.equal(pdu.readUInt32BE(0), pdu.length);
    }),
  );
});

test("an id is read to its NUL or to the end, and is empty if there is no body", () => {
  const given = { commandId: command.submitSmResp, status: 0, sequence: 1 };
  const id = "7".repeat(64);
  const pdu = encodeId(given, id);

  assert.equal(readId(pdu), id);
  assert.equal(readId(pdu.subarray(0, -1)), id);
  assert.equal(readId(pdu.subarray(0, 16)), "");
});

test("reading never throws, whatever the octets are", () => {
  const frame = fc
    .uint8Array({ minLength: 16, maxLength: 120 })
    .map((octets) => Buffer.from(octets));
  fc.assert(
    fc.property(frame, (octets) => {
      for (const read of [readShortMessage, readDataSm, readBind, readId]) read(octets);
    }),
    { numRuns: 1000 },
  );
});

test("a valid PDU that is cut, flipped or lengthened never makes the reader throw", () => {
  const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(head, shortMessage, place, octet, (given, message, at, value) => {
      const pdu = encodeShortMessage(given, message);
      const cut = pdu.subarray(0, Math.max(16, Math.floor(at * pdu.length)));
      const flipped = Buffer.from(pdu);
      flipped[Math.floor(at * pdu.length)] = value;

      for (const damaged of [cut, flipped, Buffer.concat([pdu, Buffer.of(value, value, value)])]) {
        readShortMessage(damaged);
        readDataSm(damaged);
      }
    }),
  );
});

const plain = {
  serviceType: "",
  source: { ton: 1, npi: 1, address: "491511234" },
  destination: { ton: 0, npi: 0, address: "shop" },
  esmClass: 4,
  ...unused,
  shortMessage: Buffer.from("id:1 stat:DELIVRD"),
  tlvs: Buffer.alloc(0),
};
const delivery = { commandId: command.deliverSm, status: 0, sequence: 5 };

test("a sm_length past the end is cut to what is there", () => {
  const pdu = encodeShortMessage(delivery, plain);
  pdu[pdu.length - plain.shortMessage.length - 1] = 255;

  assert.equal(readShortMessage(pdu)?.shortMessage.toString(), "id:1 stat:DELIVRD");
});

test("a NUL that sm_length does not count is skipped to reach the TLVs", () => {
  const tlvs = encodeTlvs([{ tag: tag.messageState, value: Buffer.of(2) }]);
  const pdu = encodeShortMessage(delivery, { ...plain, tlvs: Buffer.concat([Buffer.of(0), tlvs]) });

  const message = readShortMessage(pdu);

  assert.equal(findTlvInteger(message?.tlvs ?? Buffer.alloc(0), tag.messageState), 2);
});

test("a body whose strings never end is not read", () => {
  const pdu = encodeShortMessage(delivery, plain);

  assert.equal(readShortMessage(pdu.fill(0x41, 16)), undefined);
});

test("a TLV that claims more than there is counts as damaged: half an id is a wrong id", () => {
  const block = encodeTlvs([{ tag: tag.receiptedMessageId, value: Buffer.from("12345") }]).subarray(
    0,
    7,
  );

  assert.equal(findTlv(block, tag.receiptedMessageId), undefined);
  assert.equal(findTlv(block, tag.receiptedMessageId, "cut")?.toString(), "123");
});

test("an integer TLV is unsigned, and an empty one says nothing", () => {
  const block = encodeTlvs([
    { tag: tag.messageState, value: Buffer.alloc(0) },
    { tag: tag.sarMsgRefNum, value: Buffer.of(0xff, 0xff, 0xff, 0xff) },
  ]);

  assert.equal(findTlvInteger(block, tag.messageState), undefined);
  assert.equal(findTlvInteger(block, tag.sarMsgRefNum), 0xffffffff);
});
