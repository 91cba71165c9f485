import assert from "node:assert/strict";
import { test } from "node:test";
import { standingOf } from "./standing.ts";

const quiet = { alerts: [], daysLeft: null, retrying: 0, isOperator: false, hasWebhook: false };
const wordsOf = (known: Partial<Parameters<typeof standingOf>[0]>) =>
  standingOf({ ...quiet, ...known }).map(([words]) => words);

test("receivers are not mentioned if there are none, nor carriers to members", () => {
  assert.deepEqual(wordsOf({}), []);
  assert.deepEqual(wordsOf({ daysLeft: 3 }), ["Credits left for 3 days"]);
  assert.deepEqual(wordsOf({ daysLeft: 0 }), ["Credits left for less than a day"]);
});

test("good news claims no more than is known", () => {
  assert.deepEqual(wordsOf({ isOperator: true, hasWebhook: true }), [
    "No carriers down",
    "No events waiting for a failing receiver",
  ]);
});

test("what an alert says is not repeated", () => {
  const alerts = [
    { kind: "carrier_down" as const },
    { kind: "receiver_failing" as const },
    { kind: "credits_low" as const },
  ];
  const known = { isOperator: true, hasWebhook: true, retrying: 1, daysLeft: 3 };

  assert.deepEqual(wordsOf({ ...known, alerts }), ["1 event retrying"]);
  assert.deepEqual(wordsOf({ daysLeft: 0, alerts: [{ kind: "credits_gone" }] }), []);
});
