import assert from "node:assert/strict";
import { test } from "node:test";
import { changeInWords, rateChangeInWords } from "./change.ts";

test("a change is told in whole per cent with its sign", () => {
  assert.equal(changeInWords(112, 100), "+12 % against the range before");
  assert.equal(changeInWords(50, 100), "-50 % against the range before");
  assert.equal(changeInWords(100, 100), "as in the range before");
});

test("without anything before there is nothing to compare with", () => {
  assert.equal(changeInWords(5, 0), "none in the range before");
  assert.equal(changeInWords(5, null), "none in the range before");
});

test("of what there is not, no change is told", () => {
  assert.equal(changeInWords(null, 1_200), undefined);
  assert.equal(changeInWords(0, 1_200), "-100 % against the range before");
});

test("a rate changes by points, and not where either range has too little for one", () => {
  const before = { delivered: 9_500, final: 10_000 };

  assert.equal(
    rateChangeInWords({ delivered: 97, final: 100 }, before),
    "+2.00 points against the range before",
  );
  assert.equal(rateChangeInWords(before, before), "as in the range before");
  assert.equal(rateChangeInWords({ delivered: 19, final: 19 }, before), undefined);
});
