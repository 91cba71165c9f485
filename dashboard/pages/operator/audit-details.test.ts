import assert from "node:assert/strict";
import { test } from "node:test";
import { detailsInWords } from "./audit-details.ts";

test("only what changed is told, before and after", () => {
  const details = { before: { rate: 10, window: 5 }, after: { rate: 50, window: 5 } };

  assert.deepEqual(detailsInWords(details), ["rate: 10 → 50"]);
});

test("other details stand by their names", () => {
  assert.deepEqual(detailsInWords({ name: "Web shop", scopes: ["messages:send"], note: null }), [
    "name: Web shop",
    'scopes: ["messages:send"]',
    "note: none",
  ]);
  assert.deepEqual(detailsInWords({ before: "viewer", after: "owner" }), [
    "before: viewer",
    "after: owner",
  ]);
});
