import assert from "node:assert/strict";
import { test } from "node:test";
import { readCollectorHeaders } from "./span-export.ts";

test("headers for the collector are split before they are decoded", () => {
  assert.deepEqual(readCollectorHeaders("authorization=Bearer%20a%2Cb%3D, x-token = a=b ,"), {
    authorization: "Bearer a,b=",
    "x-token": "a=b",
  });
  assert.deepEqual(readCollectorHeaders(""), {});
  for (const wrong of ["a", "=b", "a%3Db", "a%2Cb=c", "a b=c", "a=%zz"])
    assert.throws(() => readCollectorHeaders(wrong), wrong);
});
