import assert from "node:assert/strict";
import { test } from "node:test";

import { Meter } from "./meter.ts";

test("old response times are forgotten, even if there was silence since", () => {
  const meter = new Meter();
  meter.answered(0, 8);

  assert.equal(meter.read(180_000).responseMs, null);
});
