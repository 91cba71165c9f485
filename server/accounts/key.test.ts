import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hashKey, isWellFormed, keyPrefix, makeKey, maskKey } from "./key.ts";

const VECTOR = "sms_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy0Tk9Tp";

test("the published vector is well formed, and has the published hash and mask", () => {
  assert.ok(isWellFormed(VECTOR));
  assert.equal(
    hashKey(VECTOR).toString("hex"),
    "2e73c2be1b335d1cd4538e320476d0e0b4079d405036a82a2b4042aaa97c5ca0",
  );
  assert.equal(maskKey(keyPrefix(VECTOR)), "sms_Ab3d••••••••");
});

test("a made key is well formed and has the published form", () => {
  for (let n = 0; n < 200; n += 1) {
    const key = makeKey();
    assert.match(key, /^sms_[0-9A-Za-z]{36}$/);
    assert.ok(isWellFormed(key));
  }
});

test("a key with one character changed is recognised as damaged", () => {
  fc.assert(
    fc.property(fc.nat({ max: 35 }), fc.constantFrom(..."0aZq9"), (position, character) => {
      const key = makeKey();
      const damaged = key.slice(0, 4 + position) + character + key.slice(5 + position);
      assert.equal(isWellFormed(damaged), damaged === key);
    }),
  );
});
