import assert from "node:assert/strict";
import { test } from "node:test";
import { standingOf } from "./standing.ts";

const quiet = { alerts: [], daysLeft: null, retrying: 0, isOperator: false, hasWebhook: false };
const wordsOf = (known: Partial<Parameters<typeof standingOf>[0]>) =>
  standingOf({ ...quiet, ...known }).map(([words]) => words);

test("nothing is said of receivers where there are none, nor of carriers to members", () => {
  assert.deepEqual(wordsOf({}), []);
  assert.deepEqual(wordsOf({ daysLeft: 3 }), ["Credits for 3 days"]);
});

test("what is good is said no better than it is known", () => {
  assert.deepEqual(wordsOf({ isOperator: true, hasWebhook: true }), [
    "No carrier down",
    "No events wait for a failing receiver",
  ]);
});

test("what is bad is counted, also where no receiver ever took an event", () => {
  const alerts = [
    { kind: "carrier_down" as const },
    { kind: "receiver_failing" as const },
    { kind: "receiver_failing" as const },
  ];

  assert.deepEqual(wordsOf({ alerts, isOperator: true, retrying: 1 }), [
    "1 carrier down",
    "Events wait for 2 failing receivers",
    "1 event retrying",
  ]);
});
