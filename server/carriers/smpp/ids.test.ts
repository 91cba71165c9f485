import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { type IdRule, matchId, matchIds } from "./ids.ts";

const exact: IdRule = { form: "exact", stripZeros: false, foldCase: false };
const hexToDecimal: IdRule = { ...exact, form: "hex_to_decimal" };
const decimalToHex: IdRule = { ...exact, form: "decimal_to_hex" };

/** Whether a receipt with one id finds the submission that was answered with the other. */
function matches(answered: string, receipted: string, rule: IdRule): boolean {
  return matchIds(receipted, rule).includes(matchId(answered, rule));
}

const table: [string, string, string, IdRule, boolean][] = [
  ["the very same id", "0A1b", "0A1b", exact, true],
  ["another case", "0A1b", "0a1B", exact, false],
  ["another case where case does not count", "0A1b", "0a1B", { ...exact, foldCase: true }, true],
  ["zeros in front", "123", "0000123", exact, false],
  [
    "zeros in front where they do not count",
    "123",
    "0000123",
    { ...exact, stripZeros: true },
    true,
  ],
  ["zeros in front of the answer's", "0000123", "123", { ...exact, stripZeros: true }, true],
  ["the id 0", "0", "0", { ...exact, stripZeros: true }, true],
  ["hex answered, decimal receipted", "1A2B3C", "1715004", hexToDecimal, true],
  ["hex answered, padded decimal receipted", "0a2b3c4d", "0170605645", hexToDecimal, true],
  ["hex in both, though the receipt should be decimal", "1A2B3C", "1A2B3C", hexToDecimal, true],
  ["hex of digits only", "1000", "4096", hexToDecimal, true],
  ["decimal answered, hex receipted", "4096", "00001000", decimalToHex, true],
  ["decimal answered, capital hex receipted", "1715004", "1A2B3C", decimalToHex, true],
  [
    "19 digits that a number cannot hold",
    "9223372036854775807",
    "9223372036854775806",
    exact,
    false,
  ],
  ["hex above 2⁵³", "7fffffffffffffff", "9223372036854775807", hexToDecimal, true],
  ["hex above 2⁵³, one off", "7fffffffffffffff", "9223372036854775806", hexToDecimal, false],
  ["a UUID under a rule for numbers", "0a3f-11", "0a3f-11", hexToDecimal, true],
];

for (const [what, answered, receipted, rule, expected] of table) {
  test(`${what}: ${answered} and ${receipted} ${expected ? "are" : "are not"} one id`, () => {
    assert.equal(matches(answered, receipted, rule), expected);
  });
}

const anyRule = fc.record({
  form: fc.constantFrom("exact" as const, "hex_to_decimal" as const, "decimal_to_hex" as const),
  stripZeros: fc.boolean(),
  foldCase: fc.boolean(),
});
const anyId = fc.oneof(
  fc.string(),
  fc.stringMatching(/^[0-9a-fA-F]{1,64}$/),
  fc.stringMatching(/^[0-9]{1,30}$/),
);

test("an id always finds itself first, whatever the rule", () => {
  fc.assert(
    fc.property(anyId, anyRule, (given, by) => {
      assert.equal(matchIds(given, by)[0], matchId(given, by));
    }),
  );
});

test("an id answered before the rule began to compare loosely still finds itself", () => {
  fc.assert(
    fc.property(anyId, anyRule, (given, by) => {
      assert.ok(matchIds(given, by).includes(matchId(given, exact)));
    }),
  );
});

test("different ids match only by their zeros and case, and only if the rule ignores those", () => {
  const ids = ["0", "00", "7", "07", "007", "a", "A", "0a", "0A", "00A", "aA", "Aa"];
  for (const answered of ids) {
    for (const receipted of ids) {
      const same = (form: (id: string) => string) => form(answered) === form(receipted);
      const stripped = (id: string) => id.replace(/^0+(?=.)/, "");
      const folded = (id: string) => id.toLowerCase();

      const found = (rule: Partial<IdRule>) => matches(answered, receipted, { ...exact, ...rule });
      assert.equal(found({}), answered === receipted);
      assert.equal(found({ stripZeros: true }), same(stripped));
      assert.equal(found({ foldCase: true }), same(folded));
    }
  }
});
