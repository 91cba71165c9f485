import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseClock } from "./clock.ts";

test("the clock of leases runs on while the machine is suspended, and never goes back", () => {
  let [wallMs, monotonicMs] = [Date.UTC(2026, 10, 15), 1_000];
  const leaseMs = leaseClock(
    () => wallMs,
    () => monotonicMs,
  );
  const after = (wall: number, monotonic: number) => {
    wallMs += wall;
    monotonicMs += monotonic;
    return leaseMs();
  };

  assert.equal(after(10_000, 10_000), 11_000);
  assert.equal(after(60_005, 5), 71_005, "suspended for a minute");
  assert.equal(after(-3_600_000, 10), 71_015, "set back by an hour");
  assert.equal(after(10_100, 10_000), 81_015, "slewed a little");
  assert.equal(after(60_000, 0), 141_015, "suspended again, though the time was set back before");
});
