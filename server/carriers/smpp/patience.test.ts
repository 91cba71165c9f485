import assert from "node:assert/strict";
import { test } from "node:test";

import { Patience } from "./patience.ts";

test("a peer that never stops sending is judged all the same", async () => {
  const patience = new Patience();
  let isJudged = false;

  patience.thenJudge(() => (isJudged = true));
  for (let turn = 0; turn < 100; turn += 1) {
    patience.heard();
    await new Promise(setImmediate);
  }

  assert.ok(isJudged);
});
