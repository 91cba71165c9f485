import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { encodeText, packSeptets, UDH_OCTETS } from "./alphabet.ts";

function hex(octets: Uint8Array | undefined): string | undefined {
  return octets && Buffer.from(octets).toString("hex");
}

/** The inverse of packing, written from the bit diagrams of the standard. */
function unpack(packed: Uint8Array, headerOctets: number): number[] {
  const bits = [...packed].flatMap((octet) =>
    Array.from({ length: 8 }, (_, bit) => (octet >> bit) & 1),
  );
  const start = (7 - ((headerOctets * 8) % 7)) % 7;
  const septets: number[] = [];
  for (let at = start; at + 7 <= bits.length; at += 7) {
    septets.push(bits.slice(at, at + 7).reduce((sum, bit, place) => sum | (bit << place), 0));
  }
  return septets;
}

test("gsm has one septet per octet, and a pair for a character of the extension table", () => {
  assert.equal(hex(encodeText("@$_€", "gsm")), "0002111b65");
});

test("packed septets match the published example", () => {
  assert.equal(hex(encodeText("hellohello", "gsm_packed")), "e8329bfd4697d9ec37");
});

test("seven spare bits hold a carriage return, because zeros would show as @", () => {
  assert.equal(unpack(encodeText("1234567", "gsm_packed") ?? new Uint8Array(), 0).at(-1), 0x0d);
});

test("packed septets unpack to the same, with or without a header, and fit 140 octets", () => {
  const septets = fc.uint8Array({ max: 127, maxLength: 153 });
  fc.assert(
    fc.property(septets, fc.constantFrom(0, UDH_OCTETS), (given, headerOctets) => {
      const packed = packSeptets(given, headerOctets);

      assert.deepEqual(unpack(packed, headerOctets).slice(0, given.length), [...given]);
      assert.ok(packed.length + headerOctets <= 140);
    }),
  );
});

test("latin1 and ascii hold what they have, and nothing replaces what they lack", () => {
  assert.equal(hex(encodeText("é@", "latin1")), "e940");
  assert.equal(encodeText("€", "latin1"), undefined);
  assert.equal(encodeText("Ω", "latin1"), undefined);
  assert.equal(hex(encodeText("a\n@", "ascii")), "610a40");
  assert.equal(encodeText("é", "ascii"), undefined);
  assert.equal(encodeText("漢", "gsm"), undefined);
});
