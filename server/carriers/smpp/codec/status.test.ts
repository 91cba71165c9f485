import assert from "node:assert/strict";
import { test } from "node:test";

import { classify, classifyBind, type StatusClass, statusCode, statusName } from "./status.ts";

const expected: [number, StatusClass["kind"], StatusClass["code"]][] = [
  [0x58, "throttled", "EXPIRED"],
  [0x14, "throttled", "EXPIRED"],
  [0x08, "temporary", "EXPIRED"],
  [0x64, "temporary", "EXPIRED"],
  [0x04, "rebind", "EXPIRED"],
  [0x0b, "permanent", "RECIPIENT_UNKNOWN"],
  [0x0a, "permanent", "SENDER_REJECTED"],
  [0x48, "permanent", "SENDER_REJECTED"],
  [0x49, "permanent", "SENDER_REJECTED"],
  [0x01, "permanent", "CONTENT_REJECTED"],
  [0x45, "permanent", "REJECTED_BY_CARRIER"],
  [0xffffffff, "permanent", "REJECTED_BY_CARRIER"],
];

for (const [code, kind, errorCode] of expected) {
  test(`${statusName(code)} is ${kind} and ends a message with ${errorCode}`, () => {
    assert.deepEqual(classify(code, new Map()), { kind, code: errorCode });
  });
}

test("the carrier's settings for a status take precedence over the table", () => {
  const blocked: StatusClass = { kind: "permanent", code: "BLOCKED" };

  assert.equal(classify(0x58, new Map([[0x58, blocked]])), blocked);
});

test("a status is shown as 0x and at least two capital digits", () => {
  assert.equal(statusCode(0x0b), "0x0B");
  assert.equal(statusCode(0x400), "0x400");
});

test("refused binds are told apart by what a new try would do", () => {
  assert.equal(classifyBind(0x05), "already_bound");
  for (const code of [0x0d, 0x0e, 0x0f, 0x53]) assert.equal(classifyBind(code), "credentials");
  assert.equal(classifyBind(0x08), "other");
});
