import assert from "node:assert/strict";
import { test } from "node:test";
import { changeInWords, rateChangeInWords } from "./change.ts";

test("a change is shown in whole per cent with its sign", () => {
  assert.equal(changeInWords(112, 100), "+12 % vs. previous period");
  assert.equal(changeInWords(50, 100), "-50 % vs. previous period");
  assert.equal(changeInWords(100, 100), "same as previous period");
});

test("a change too large for per cent shows the previous value", () => {
  assert.equal(changeInWords(550, 2), "up from 2 in previous period");
  assert.equal(changeInWords(22_000, 2_000), "up from 2,000 in previous period");
  assert.equal(changeInWords(21_900, 2_000), "+995 % vs. previous period");
  assert.equal(
    changeInWords(9_900, 290, (ms) => `${ms} ms`),
    "up from 290 ms in previous period",
  );
});

test("without a previous value there is nothing to compare with", () => {
  assert.equal(changeInWords(5, 0), "none in previous period");
  assert.equal(changeInWords(5, null), "none in previous period");
});

test("an absent value shows no change", () => {
  assert.equal(changeInWords(null, 1_200), undefined);
  assert.equal(changeInWords(0, 1_200), "-100 % vs. previous period");
});

test("a rate changes by points, and shows no change if either range has too little for one", () => {
  const before = { delivered: 9_500, final: 10_000 };

  assert.equal(
    rateChangeInWords({ delivered: 97, final: 100 }, before),
    "+2.00 points vs. previous period",
  );
  assert.equal(rateChangeInWords(before, before), "same as previous period");
  assert.equal(rateChangeInWords({ delivered: 19, final: 19 }, before), undefined);
  assert.equal(rateChangeInWords(before, { delivered: 19, final: 19 }), undefined);
});
