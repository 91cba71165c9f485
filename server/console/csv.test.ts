import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "./csv.ts";

test("a text that a spreadsheet would run is made harmless, and a negative number is left as it is", () => {
  for (const text of [
    "=1+1",
    "+49",
    "-x",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\n=1",
    "\0=1",
    "＝1",
    "＋1",
    "－1",
    "＠SUM(A1)",
  ])
    assert.match(csvLine([text]), /^"?'/, JSON.stringify(text));
  assert.equal(csvLine([-12, 0, null, "a=b"]), "-12,0,,a=b\r\n");
});

test("commas, quotes and line breaks stay inside their cell", () => {
  assert.equal(csvLine(['say "hi", now\nor never', "b"]), '"say ""hi"", now\nor never",b\r\n');
});
