import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { framer } from "./frame.ts";
import { bare, command } from "./header.ts";

const MAX_PDU = 1024;

function frames(chunks: Buffer[]): { frames: string[]; isReadable: boolean } {
  const found: string[] = [];
  const push = framer(MAX_PDU, (frame) => found.push(frame.toString("hex")));
  let isReadable = true;
  for (const chunk of chunks) isReadable = push(chunk);
  return { frames: found, isReadable };
}

function cut(stream: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(stream.subarray(at, at + size));
    at += size;
  }
  return [...chunks, stream.subarray(at)];
}

function withLength(octets: number): Buffer {
  const pdu = bare(command.enquireLink, 0, 1);
  pdu.writeUInt32BE(octets, 0);
  return pdu;
}

const pdu = fc
  .uint8Array({ minLength: 16, maxLength: MAX_PDU })
  .map((octets) => Buffer.from(octets))
  .map((octets) => {
    octets.writeUInt32BE(octets.length, 0);
    return octets;
  });

test("the PDUs read are those written, however the reads cut them", () => {
  fc.assert(
    fc.property(
      fc.array(pdu, { maxLength: 8 }),
      fc.array(fc.integer({ min: 0, max: 40 })),
      (pdus, sizes) => {
        const { frames: found, isReadable } = frames(cut(Buffer.concat(pdus), sizes));

        assert.ok(isReadable);
        assert.deepEqual(
          found,
          pdus.map((octets) => octets.toString("hex")),
        );
      },
    ),
  );
});

test("PDUs that arrive octet by octet are the same PDUs", () => {
  const stream = Buffer.concat([1, 2, 3].map((sequence) => bare(command.enquireLink, 0, sequence)));

  const { frames: found } = frames([...stream].map((octet) => Buffer.of(octet)));

  assert.deepEqual(found, frames([stream]).frames);
  assert.equal(found.length, 3);
});

for (const length of [0, 4, 15, MAX_PDU + 1, 2 ** 31, 2 ** 32 - 1]) {
  test(`a command_length of ${length} ends the reading, in one piece or octet by octet`, () => {
    const good = bare(command.enquireLink, 0, 1);
    const stream = Buffer.concat([good, withLength(length), good]);

    const whole = frames([stream]);
    const piecemeal = frames([...stream].map((octet) => Buffer.of(octet)));

    assert.deepEqual(whole, { frames: [good.toString("hex")], isReadable: false });
    assert.deepEqual(piecemeal, whole);
  });
}

test("the longest allowed PDU is read, in one piece or octet by octet", () => {
  const longest = Buffer.alloc(MAX_PDU);
  longest.writeUInt32BE(MAX_PDU);

  const whole = frames([longest]);
  const piecemeal = frames([...longest].map((octet) => Buffer.of(octet)));

  assert.deepEqual(whole, { frames: [longest.toString("hex")], isReadable: true });
  assert.deepEqual(piecemeal, whole);
});

test("random octets neither throw nor hold more than one PDU", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (chunks) => {
      const { frames: found } = frames(chunks.map((chunk) => Buffer.from(chunk)));

      assert.ok(found.every((frame) => frame.length <= MAX_PDU * 2));
    }),
  );
});
