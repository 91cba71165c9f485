import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeName } from "./names.ts";

const TURNING = [
  "\u202A",
  "\u202B",
  "\u202C",
  "\u202D",
  "\u202E",
  "\u2066",
  "\u2067",
  "\u2068",
  "\u2069",
];

test("no name holds a character that reverses the text after it", () => {
  for (const character of TURNING) {
    assert.match(judgeName(`Ada${character}Lovelace`)[0] ?? "", /change the direction of text/);
  }
});

test("a name has 1 to 60 characters that are not only spaces", () => {
  for (const name of ["a", "é".repeat(60)]) assert.deepEqual(judgeName(name), []);
  for (const name of ["", "  ", "a".repeat(61)]) assert.equal(judgeName(name).length, 1);
});

test("a name can be seen, and is one line", () => {
  for (const blank of ["\u200B\u200B", "\u2800", "\u3164"]) {
    assert.match(judgeName(blank)[0] ?? "", /can be seen/);
  }
  assert.match(judgeName("Ada\u2028Lovelace")[0] ?? "", /control characters/);
});

test("names in any script are fine, with the direction marks that they need", () => {
  for (const name of ["عمر الخيام", "שלום\u200F (1)", "Acme\u200E نص", "李清照"]) {
    assert.deepEqual(judgeName(name), []);
  }
});
