import assert from "node:assert/strict";
import { test } from "node:test";
import { cannotOpen } from "./unfit.ts";

test("a file of another user is named with whose it must be; no other fault is blamed on its owner", () => {
  const say = (code: string) => cannotOpen("secret.key", Object.assign(new Error(code), { code }));

  assert.equal(
    say("EACCES").message,
    "secret.key cannot be opened (EACCES). Give the data folder and all it holds to the user that runs Posthorn.",
  );
  assert.equal(say("ENOSPC").message, "secret.key cannot be opened (ENOSPC).");
});
