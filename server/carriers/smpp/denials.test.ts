import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { Denials } from "./denials.ts";

test("denials that recur soon are believed after four times as many, 64 at most, and after ten minutes at once", () => {
  const clock = manualClock();
  const denials = new Denials(clock);
  const believedAt = () => {
    denials.bound();
    let nth = 1;
    while (!denials.denied() && nth < 100) nth += 1;
    return nth;
  };

  const soon = [believedAt(), believedAt(), believedAt(), believedAt(), believedAt()];
  clock.advance(600_000);

  assert.deepEqual([...soon, believedAt()], [1, 4, 16, 64, 64, 1]);
});
