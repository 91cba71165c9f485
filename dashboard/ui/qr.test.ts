import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { qrCode } from "./qr.ts";

/** Hashes of the modules, row by row; an independent reader has read these codes back. */
const READ_BACK = {
  Posthorn: "eb704f0f39859bdb",
  "otpauth://totp/Posthorn:ada%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Posthorn":
    "26ed009fc50188ef",
};

test("codes are drawn as an independent reader read them", () => {
  for (const [text, expected] of Object.entries(READ_BACK)) {
    const rows = qrCode(text).map((row) => row.map(Number).join(""));

    assert.equal(createHash("sha256").update(rows.join("\n")).digest("hex").slice(0, 16), expected);
  }
});

test("a longer text takes a larger code, and one that fits none is refused", () => {
  assert.equal(qrCode("a").length, 21);
  assert.equal(qrCode("a".repeat(664)).length, 97);
  assert.throws(() => qrCode("a".repeat(667)), /too long/);
});
