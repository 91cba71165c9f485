import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Type } from "typebox";
import Schema from "typebox/schema";
import { NewBatch, NewMessage, type Operation, operations } from "#contract";
import { shapeCheck } from "./shape.ts";

const check = shapeCheck(NewMessage, "body");
const told = (value: unknown) =>
  Object.fromEntries(check(value).map(({ field, message }) => [String(field), message]));

test("a body of the right shape has no faults", () => {
  assert.deepEqual(check({ recipient: "1", text: "x" }), []);
  assert.deepEqual(check({ recipient: "1", text: "x", sender: null, metadata: { a: "b" } }), []);
});

test("each kind of fault is described in words that name the field", () => {
  assert.deepEqual(
    told({
      recipient: 5,
      sender: {},
      reference: "x".repeat(129),
      metadata: { a: 1, "3": false },
      encoding: "utf8",
      maxCredits: 0,
      validitySeconds: 1.5,
      recipent: "x",
    }),
    {
      text: "text is required.",
      recipient: "recipient must be a string.",
      sender: "sender must be a string.",
      reference: "reference must have at most 128 characters.",
      "metadata.a": "metadata.a must be a string.",
      "metadata.3": "metadata.3 must be a string.",
      encoding: "encoding must be one of auto, gsm7, ucs2.",
      maxCredits: "maxCredits must be 1 or more.",
      validitySeconds: "validitySeconds must be a whole number.",
      recipent: "There is no field recipent. Did you mean recipient?",
    },
  );
});

test("a mismatch of a pattern is explained by the pattern's description", () => {
  const query = shapeCheck(operations.listMessages.query, "query");

  assert.deepEqual(
    query({ recipient: "abc" }).map(({ message }) => message),
    ["recipient must be 7 to 15 digits, with or without a leading plus."],
  );
});

test("a body that is no object is reported as the body", () => {
  for (const value of [null, [], "x", 5, true]) {
    assert.deepEqual(told(value), { null: "The body must be an object." });
  }
});

test("a query parameter that is given twice but takes one value is answered with that", () => {
  const query = shapeCheck(operations.listMessages.query, "query");
  assert.deepEqual(
    query({ limit: ["1", "2"], cursor: ["a", "b"] }).map(({ message }) => message),
    ["limit must be given only once.", "cursor must be given only once."],
  );
});

test("several values in one query parameter are answered with how to repeat the parameter", () => {
  const query = shapeCheck(operations.listMessages.query, "query");
  assert.deepEqual(
    query({ status: ["SENT, DELIVERED"] }).map(({ message }) => message),
    ["status takes one value; give it once for each: status=SENT&status=DELIVERED."],
  );
});

test("fields in a list are named by their place, parameters by their name alone", () => {
  const batch = shapeCheck(NewBatch, "body")({ messages: [{}, { recipient: 1, text: "x" }, 5] });
  assert.deepEqual(
    batch.map(({ field }) => field),
    ["messages[0].recipient", "messages[0].text", "messages[1].recipient", "messages[2]"],
  );
  const query = shapeCheck(Type.Object({ status: Type.Array(Type.Literal("SENT")) }), "query");
  assert.deepEqual(
    query({ status: ["SENT", "NEW"] }).map(({ field, code }) => [field, code]),
    [["status", "PARAMETER_INVALID"]],
  );
});

test("an unknown name is repeated short and without control characters", () => {
  const [detail] = check({ recipient: "1", text: "x", [`a\n\u0000\ud800${"b".repeat(200)}`]: 1 });

  assert.equal(detail?.field, `a???${"b".repeat(60)}`);
});

test("at most ten thousand faults are named, however many there are", () => {
  const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`x${n}`, n]));
  assert.equal(check(many).length, 10_000);
  const messages = Array.from({ length: 1_000 }, () => many);
  assert.equal(shapeCheck(NewBatch, "body")({ messages }).length, 10_000);
});

test("the likely meaning is suggested for the first hundred unknown fields", () => {
  const unknown = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`recipien${n}`, 1]));

  const hints = check({ recipient: "1", text: "x", ...unknown }).map(({ message }) =>
    /Did you mean/.test(message),
  );

  assert.deepEqual(hints, [...Array(100).fill(true), ...Array(100).fill(false)]);
});

const names = fc.oneof(fc.constantFrom(...Object.keys(NewMessage.properties)), fc.string());
const almost = fc.dictionary(names, fc.oneof(fc.string(), fc.jsonValue(), fc.constant(null)));

test("a fault is found exactly where the schema finds one, whatever is given", () => {
  const declared: Operation[] = Object.values(operations);
  const schemas = declared.flatMap(({ body, query }) => [body, query]);
  const value = fc.oneof(almost, fc.record({ messages: fc.array(almost) }), fc.jsonValue());
  for (const schema of schemas.filter((each) => each !== undefined)) {
    const judge = shapeCheck(schema, "body");
    fc.assert(
      fc.property(value, (given) => {
        assert.equal(judge(given).length === 0, Schema.Check(schema, given));
      }),
    );
  }
});
