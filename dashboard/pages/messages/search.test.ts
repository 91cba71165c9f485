import assert from "node:assert/strict";
import { test } from "node:test";
import { cleared, isFiltered, readMessages, recognise, withoutMarks } from "./search.ts";

const id = "019a85c2-5b00-7abc-8def-0123456789a0";

test("a full message id, a number and a reference are told apart", () => {
  assert.deepEqual(recognise(` ${id} `), { kind: "id", id });
  const number = "+49 (151) 123-45678";
  assert.deepEqual(recognise(number), { kind: "recipient", recipient: number });
  assert.equal(withoutMarks(number), "4915112345678");
  assert.deepEqual(recognise("order-1234567"), { kind: "reference", reference: "order-1234567" });
  assert.deepEqual(recognise("4711"), { kind: "reference", reference: "4711" });
  assert.equal(recognise("  "), undefined);
});

test("bad filters fall back to none", () => {
  const search = readMessages({
    status: "foo",
    errorCode: ["x"],
    key: "1",
    live: "maybe",
    id: "2",
  });

  assert.deepEqual(search, {});
  assert.equal(isFiltered(search), false);
});

test("clearing the filters keeps page size and live, and drops the cursor", () => {
  const search = readMessages({ status: "SENT", limit: "50", live: "on", cursor: "abc" });

  assert.equal(isFiltered(search), true);
  assert.deepEqual(cleared(search), { limit: "50", live: "on" });
});
