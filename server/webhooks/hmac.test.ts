import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { hmacKey, hmacSha256 } from "./hmac.ts";

const octets = (maxLength: number) => fc.uint8Array({ maxLength }).map((each) => Buffer.from(each));

test("every key and text has the same HMAC as the library's", () => {
  fc.assert(
    fc.property(
      octets(200),
      octets(5_000),
      fc.constantFrom("hex", "base64"),
      (key, data, encoding) => {
        const expected = createHmac("sha256", key).update(data).digest(encoding);

        const parts = [data.subarray(0, 7), data.subarray(7)];
        assert.equal(hmacSha256(hmacKey(key), parts, encoding), expected);
      },
    ),
  );
});

test("keys around the length of a block are not cut or hashed wrongly", () => {
  for (const length of [0, 1, 31, 32, 63, 64, 65, 128]) {
    const key = Buffer.alloc(length, 0xa5);
    const data = Buffer.from("what is signed");

    const expected = createHmac("sha256", key).update(data).digest("hex");
    assert.equal(hmacSha256(hmacKey(key), [data], "hex"), expected, `a key of ${length} octets`);
  }
});
