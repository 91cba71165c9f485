import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nearestField } from "./nearest-field.ts";

const KNOWN = ["recipient", "text", "sender", "callbackUrl", "reference", "metadata", "sendAt"];

test("a name with a few letters wrong, missing or swapped finds the one that was meant", () => {
  for (const [given, meant] of Object.entries({
    recipent: "recipient",
    Recipient: "recipient",
    recpient: "recipient",
    callback_url: "callbackUrl",
    "callback-url": "callbackUrl",
    CALLBACKURL: "callbackUrl",
    txt: "text",
    refrence: "reference",
    send_at: "sendAt",
  })) {
    assert.equal(nearestField(given, KNOWN), meant, given);
  }
});

test("other services' names for the same thing are known, if they fit", () => {
  assert.equal(nearestField("to", KNOWN), "recipient");
  assert.equal(nearestField("from", KNOWN), "sender");
  assert.equal(nearestField("body", KNOWN), "text");
  assert.equal(nearestField("to", ["messages"]), undefined);
});

test("a name that is near to no other finds none", () => {
  for (const given of [
    "",
    "zzzzzzzz",
    "constructor",
    "__proto__",
    "toString",
    "x".repeat(10_000),
  ]) {
    assert.equal(nearestField(given, KNOWN), undefined, given.slice(0, 20));
  }
});

test("any name gets an answer, which is one of the known names or none", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.array(fc.string()), (given, known) => {
      const found = nearestField(given, known);
      assert.ok(found === undefined || known.includes(found));
    }),
  );
});

test("a known name is nearest to itself", () => {
  for (const name of KNOWN) assert.equal(nearestField(name, KNOWN), name);
});
