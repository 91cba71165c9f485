import assert from "node:assert/strict";
import { test } from "node:test";

import { Tally } from "./tally.ts";

test("an SMSC that invents statuses for ever cannot grow what is kept, and known ones are still counted", () => {
  const tally = new Tally();
  for (let code = 1; code <= 1_500; code += 1) tally.refused(code, false);

  tally.refused(1, false);

  const statuses = tally.statuses();
  assert.equal(Object.keys(statuses).length, 1_000);
  assert.equal(statuses["0x01"], 2);
  assert.equal(tally.counts.refused, 1_501);
});
