import assert from "node:assert/strict";
import { test } from "node:test";
import { codeInWords } from "./carrier-codes.ts";

test("a known code is put in words, and any other is shown as the carrier wrote it", () => {
  const codes = ["0x58", "0x0400", "constructor", "042"].map(codeInWords);
  assert.deepEqual(codes, ["0x58 (throttled)", "0x0400", "constructor", "042"]);
});
