import assert from "node:assert/strict";
import { test } from "node:test";
import { cleared, isFiltered, readMessages, recognise, withoutMarks } from "./search.ts";

const id = "019a85c2-5b00-7abc-8def-0123456789a0";

test("a full message id, a number and a reference are told apart", () => {
  assert.deepEqual(recognise(` ${id} `, true), { kind: "id", id });
  const number = "+49 (151) 123-45678";
  assert.deepEqual(recognise(number, true), { kind: "recipient", recipient: number });
  assert.equal(withoutMarks(number), "4915112345678");
  assert.equal(recognise("1234567", true)?.kind, "recipient");
  for (const reference of ["order-1234567", "123456", "1234567890123456"]) {
    assert.deepEqual(recognise(reference, true), { kind: "reference", reference });
  }
  assert.equal(recognise("  ", true), undefined);
});

test("a reader who may not see numbers searches for references", () => {
  const reference = "4915112345678";
  assert.deepEqual(recognise(reference, false), { kind: "reference", reference });
  assert.deepEqual(recognise(id, false), { kind: "id", id });
});

test("bad filters fall back to none", () => {
  const search = readMessages({
    status: "foo",
    errorCode: ["x"],
    key: "1",
    recipient: "abc",
    live: "maybe",
    id: "2",
  });

  assert.deepEqual(search, {});
  assert.equal(isFiltered(search), false);
});

test("each filter alone makes a filtered list", () => {
  const [from, to] = ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z"];
  for (const filter of [
    { status: ["SENT"] },
    { errorCode: ["EXPIRED"] },
    { key: "console" },
    { key: id },
    { sender: "Acme" },
    { recipient: "+49 151 1234567" },
    { reference: "order 7" },
    { range: "7d" },
    { from, to },
  ]) {
    const search = readMessages(filter);
    assert.deepEqual(search, filter);
    assert.equal(isFiltered(search), true, JSON.stringify(filter));
  }
});

test("clearing the filters keeps page size and live, and drops the cursor", () => {
  const search = readMessages({ status: "SENT", limit: "50", live: "on", cursor: "abc" });

  assert.equal(isFiltered(search), true);
  assert.deepEqual(cleared(search), { limit: "50", live: "on" });
});
