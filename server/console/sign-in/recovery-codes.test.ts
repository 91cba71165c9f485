import assert from "node:assert/strict";
import { test } from "node:test";
import { hashRecoveryCode, makeRecoveryCodes } from "./recovery-codes.ts";

test("ten different codes are made, in groups of four", () => {
  const codes = makeRecoveryCodes();

  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, /^[2-9a-z]{4}(-[2-9a-z]{4}){3}$/);
});

test("case, spaces and dashes of a typed code do not count", () => {
  const [typed, kept, other] = [
    "ab3d EF6H–jk9m 2345",
    "ab3d-ef6h-jk9m-2345",
    "ab3d-ef6h-jk9n-2345",
  ];

  assert.deepEqual(hashRecoveryCode(typed, "ada"), hashRecoveryCode(kept, "ada"));
  assert.notDeepEqual(hashRecoveryCode(other, "ada"), hashRecoveryCode(kept, "ada"));
  assert.notDeepEqual(hashRecoveryCode(kept, "bob"), hashRecoveryCode(kept, "ada"));
});
