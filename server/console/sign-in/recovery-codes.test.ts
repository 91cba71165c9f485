import assert from "node:assert/strict";
import { test } from "node:test";
import { hashRecoveryCode, makeRecoveryCodes } from "./recovery-codes.ts";

test("ten different codes are made, in groups of four", () => {
  const codes = makeRecoveryCodes();

  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, /^[2-9a-z]{4}-[2-9a-z]{4}-[2-9a-z]{4}$/);
});

test("case, spaces and dashes of a typed code do not count", () => {
  const key = Buffer.alloc(32, 3);

  assert.deepEqual(
    hashRecoveryCode("ab3d EF6H–jk9m", key),
    hashRecoveryCode("ab3d-ef6h-jk9m", key),
  );
  assert.notDeepEqual(
    hashRecoveryCode("ab3d-ef6h-jk9n", key),
    hashRecoveryCode("ab3d-ef6h-jk9m", key),
  );
});
