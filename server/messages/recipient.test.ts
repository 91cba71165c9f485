import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { digitsOf, type JudgedRecipient, judgeRecipient } from "./recipient.ts";

test("a number of its country's numbering plan is valid, with or without a leading plus", () => {
  const valid = { outcome: "valid", recipient: "4915112345678", country: "DE" };
  assert.deepEqual(judgeRecipient("4915112345678"), valid);
  assert.deepEqual(judgeRecipient("+4915112345678"), valid);
});

test("fixed lines, documentation numbers and the simulator's endings can be recipients", () => {
  for (const number of ["4930123456", "442079460123", "447700900123", "14155550123"]) {
    assert.equal(judgeRecipient(number).outcome, "valid", number);
  }
  for (const prefix of ["491511234", "1415555", "3361234", "44770090", "44791112"]) {
    for (let ending = 1; ending <= 8; ending += 1) {
      const number = `${prefix}000${ending}`;
      assert.equal(judgeRecipient(number).outcome, "valid", number);
    }
  }
});

/** The number that a refusal suggests instead. */
function correctionOf(judged: JudgedRecipient): string | undefined {
  return judged.outcome === "valid" ? undefined : /Did you mean (\d+)\?$/.exec(judged.message)?.[1];
}

const corrections: [string, string][] = [
  ["+49 151 12345678", "4915112345678"],
  ["49-151-1234-5678", "4915112345678"],
  ["(49) 151/12.34.56.78", "4915112345678"],
  [" 4915112345678", "4915112345678"],
  ["4915112345678\n", "4915112345678"],
  ["++4915112345678", "4915112345678"],
  ["004915112345678", "4915112345678"],
  ["+004915112345678", "4915112345678"],
  ["00 49 151 12345678", "4915112345678"],
  ["0114915112345678", "4915112345678"],
  ["+49 (0) 151 12345678", "4915112345678"],
  ["49015112345678", "4915112345678"],
  ["4402079460123", "442079460123"],
  ["44 07911 123456", "447911123456"],
  ["3606201234567", "36201234567"],
  ["5215512340001", "525512340001"],
  ["2125550123", "12125550123"],
  ["(212) 555-0123", "12125550123"],
  ["\u202a+49 151 12345678\u202c", "4915112345678"],
  ["49\u00a0151\u00a012345678", "4915112345678"],
  ["４９１５１１２３４５６７８", "4915112345678"],
  ["٤٩١٥١١٢٣٤٥٦٧٨", "4915112345678"],
];

for (const [raw, correction] of corrections) {
  test(`${JSON.stringify(raw)} is refused, and ${correction} is named`, () => {
    const judged = judgeRecipient(raw);

    assert.equal(correctionOf(judged), correction);
  });
}

const hopeless: [string, RegExp][] = [
  ["", /7 to 15 digits .* has 0/],
  ["+", /7 to 15 digits .* has 0/],
  ["491511", /7 to 15 digits .* has 6/],
  ["4915112345678901", /7 to 15 digits .* has 16/],
  ["015112345678", /country code instead of 0/],
  ["999123456789", /No country code/],
  ["15551234567", /numbering plan of \+1 has no such number/],
  ["3300000000", /numbering plan of \+33 \(FR\) has no such number/],
  ["1800FLOWERS", /digits only.*"F"/],
  ["49151123456\u0000", /invisible character/],
  ["4915112345678\ud83d", /invisible character/],
];

for (const [raw, reason] of hopeless) {
  test(`${JSON.stringify(raw)} is refused without a guess`, () => {
    const judged = judgeRecipient(raw);

    assert.equal(correctionOf(judged), undefined);
    assert.match(judged.outcome === "invalid" ? judged.message : "", reason);
  });
}

test("a correction is itself valid, and never what was given", () => {
  const written = fc.string({
    unit: fc.constantFrom(..."0123456789+ -()".split("")),
    maxLength: 20,
  });
  fc.assert(
    fc.property(fc.oneof(written, fc.string()), (raw) => {
      const correction = correctionOf(judgeRecipient(raw));
      if (correction === undefined) return;

      assert.notEqual(correction, raw);
      assert.partialDeepStrictEqual(judgeRecipient(correction), {
        outcome: "valid",
        recipient: correction,
      });
    }),
    { numRuns: 2000 },
  );
});

test("a refusal never quotes a long input back", () => {
  const judged = judgeRecipient("x".repeat(1_000_000));
  assert.ok(judged.outcome === "invalid" && judged.message.length < 200);
});

test("a filter takes any number of the right form, whether or not a plan has it", () => {
  assert.equal(digitsOf("+15551234567"), "15551234567");
  assert.equal(digitsOf("15551234567"), "15551234567");
  assert.equal(digitsOf("1 555"), null);
});
