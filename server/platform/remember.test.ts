import assert from "node:assert/strict";
import { test } from "node:test";
import { remembering } from "./remember.ts";

test("a result is not looked for again, until there is more than may be remembered", () => {
  const looked: string[] = [];
  const find = remembering(2, (key: string) => {
    looked.push(key);
    return key.toUpperCase();
  });

  const found = ["a", "b", "a", "b", "c", "b"].map(find);

  assert.deepEqual(found, ["A", "B", "A", "B", "C", "B"]);
  assert.deepEqual(looked, ["a", "b", "c", "b"]);
});
