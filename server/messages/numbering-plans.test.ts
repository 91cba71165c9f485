import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import metadata from "libphonenumber-js/min/metadata";
import examples from "libphonenumber-js/mobile/examples";
import { askNumberingPlan } from "./numbering-plans.ts";

const callingCodes = [
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
];
const digit = fc.constantFrom("0", "1", "2", "3", "4", "5", "6", "7", "8", "9");
const anyNumber = fc
  .tuple(fc.constantFrom(...callingCodes), fc.string({ unit: digit, minLength: 4, maxLength: 13 }))
  .map(([code, national]) => (code + national).slice(0, 15))
  .filter((number) => number.length >= 7);
/** Real numbers of every country. Some have a few digits changed, and half of those stay valid. */
const likelyNumber = fc
  .tuple(
    fc.constantFrom(...Object.entries(metadata.country_calling_codes)),
    fc.nat(),
    fc.array(fc.tuple(fc.nat(), digit), { maxLength: 3 }),
  )
  .map(([[code, countries], which, changes]) => {
    const digits = (examples[countries[which % countries.length] ?? "DE"] ?? "").split("");
    for (const [place, to] of changes) digits[place % digits.length] = to;
    return code + digits.join("");
  });

test("validity and country are those of libphonenumber-js for any number it leaves unchanged", () => {
  fc.assert(
    fc.property(fc.oneof(anyNumber, likelyNumber), (number) => {
      const theirs = parsePhoneNumberFromString(`+${number}`);
      // The library also removes trunk prefixes, and so may answer about another number than asked.
      fc.pre(theirs?.number === `+${number}`);

      const ours = askNumberingPlan(number);

      assert.equal(ours.outcome === "assigned", theirs.isValid());
      if (ours.outcome !== "assigned") return;
      const [main] = metadata.country_calling_codes[theirs.countryCallingCode] ?? [];
      assert.equal(ours.country, theirs.country ?? main ?? null);
    }),
    { numRuns: 5000 },
  );
});

test("an example number of every country belongs to that country", () => {
  for (const [country, national] of Object.entries(examples)) {
    const theirs = parsePhoneNumberFromString(national, country as keyof typeof examples);
    assert.ok(theirs, country);
    assert.deepEqual(askNumberingPlan(theirs.number.slice(1)), {
      outcome: "assigned",
      country: theirs.country,
    });
  }
});

test("a number that no country claims by its first digits belongs to the main one", () => {
  assert.deepEqual(askNumberingPlan("358112345678"), { outcome: "assigned", country: "FI" });
});

test("numbers of no country are assigned to none", () => {
  for (const number of ["80012345678", "881612345678", "870301234567"]) {
    const answer = askNumberingPlan(number);
    assert.deepEqual(answer, { outcome: "assigned", country: null }, number);
  }
});

test("numbers reserved for documentation are part of their plans", () => {
  const reserved: Record<string, string> = {
    "447700900000": "GB",
    "447700900999": "GB",
    "441632960123": "GB",
    "441154960123": "GB",
    "442079460123": "GB",
    "14155550123": "US",
    "12025550199": "US",
    "14165550123": "CA",
    "4915228817386": "DE",
    "33639981234": "FR",
    "353209101234": "IE",
    "61491570156": "AU",
    "46701740605": "SE",
  };
  for (const [number, country] of Object.entries(reserved)) {
    assert.deepEqual(askNumberingPlan(number), { outcome: "assigned", country }, number);
  }
  assert.equal(askNumberingPlan("447700910000").outcome, "unassigned");
  assert.equal(askNumberingPlan("44770090012").outcome, "unassigned");
});

test("a number outside its country's plan is told apart from one with no country code", () => {
  assert.deepEqual(askNumberingPlan("3300000000"), {
    outcome: "unassigned",
    callingCode: "33",
    countries: ["FR"],
  });
  assert.deepEqual(askNumberingPlan("9991234567"), { outcome: "no_calling_code" });
  assert.deepEqual(askNumberingPlan("0049151123"), { outcome: "no_calling_code" });
});
