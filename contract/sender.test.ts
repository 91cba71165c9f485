import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyCharacter } from "../test/support/any-character.ts";
import { judgeSender } from "./sender.ts";

const valid: [string, string][] = [
  ["4915112345678", "4915112345678"],
  ["+4915112345678", "4915112345678"],
  ["+4930123", "4930123"],
  ["123456789012345", "123456789012345"],
  ["123", "123"],
  ["12345678", "12345678"],
  ["A", "A"],
  ["Posthorn", "Posthorn"],
  ["A-b_c.d &1", "A-b_c.d &1"],
  ["12345678ABC", "12345678ABC"],
];

for (const [raw, sender] of valid) {
  test(`${JSON.stringify(raw)} is a sender`, () => {
    assert.deepEqual(judgeSender(raw), { outcome: "valid", sender });
  });
}

const invalid: [string, RegExp][] = [
  ["", /not empty/],
  ["12", /3 to 8 digits/],
  ["+123456", /7 to 15/],
  ["012345678", /country code/],
  ["0151123456789", /country code/],
  ["1234567890123456", /7 to 15/],
  ["Twelve chars", /at most 11 .* has 12/],
  ["Grüße", /letters A to Z/],
  ["A\n", /letters A to Z/],
  ["Post\u0000", /letters A to Z/],
  ["12-34", /at least one letter/],
  ["- . _ &", /at least one letter/],
  ["+49 151 1234", /letters A to Z/],
];

for (const [raw, reason] of invalid) {
  test(`${JSON.stringify(raw)} is no sender`, () => {
    const judged = judgeSender(raw);
    assert.match(judged.outcome === "invalid" ? judged.message : "", reason);
  });
}

test("an accepted sender has a form that the wire can carry", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 18 }), (raw) => {
      const judged = judgeSender(raw);
      if (judged.outcome === "valid") assert.match(judged.sender, /^[\x20-\x7e]{1,15}$/);
    }),
  );
});
