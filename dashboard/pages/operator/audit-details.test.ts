import assert from "node:assert/strict";
import { test } from "node:test";
import { actionInWords, detailsInWords } from "./audit-details.ts";

test("only what changed is told, before and after", () => {
  const details = { before: { rate: 10, window: 5 }, after: { rate: 50, window: 5 } };

  assert.deepEqual(detailsInWords(details), ["rate: from 10 to 50"]);
});

test("other details stand by their names", () => {
  assert.deepEqual(detailsInWords({ name: "Web shop", scopes: ["messages:send"], note: null }), [
    "name: Web shop",
    'scopes: ["messages:send"]',
    "note: none",
  ]);
  assert.deepEqual(detailsInWords({ before: "viewer", after: "owner" }), ["from viewer to owner"]);
  assert.deepEqual(detailsInWords({ before: null, after: 5 }), ["from none to 5"]);
});

test("an action is told in words", () => {
  assert.equal(actionInWords("member.role_changed"), "Member role changed");
});
