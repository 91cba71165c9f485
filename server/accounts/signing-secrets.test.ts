import assert from "node:assert/strict";
import { test } from "node:test";
import { signingNow } from "./signing-secrets.ts";

test("the secret before signs second, until its overlap ends", () => {
  const until = new Date("2026-11-15T09:30:00.000Z");
  const secrets = { current: "new", previous: { secret: "old", until } };

  assert.deepEqual(signingNow(secrets, new Date(until.getTime() - 1)), ["new", "old"]);
  assert.deepEqual(signingNow(secrets, until), ["new"]);
  assert.deepEqual(signingNow({ current: "new", previous: null }, until), ["new"]);
});
