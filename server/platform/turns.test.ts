import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../../test/support/manual-clock.ts";
import { takeTurns } from "./turns.ts";

test("one begins at once, and each of the others when the one before it has ended, as they asked", () => {
  const turns = takeTurns(manualClock(), 25);
  const begun: string[] = [];

  for (const name of ["a", "b", "c"]) turns.ask(() => begun.push(name));

  assert.deepEqual(begun, ["a"]);
  turns.over();
  assert.deepEqual(begun, ["a", "b"]);
  turns.over();
  assert.deepEqual(begun, ["a", "b", "c"]);
});

test("who takes too long is waited for no longer, and holds up nobody after that", () => {
  const clock = manualClock();
  const turns = takeTurns(clock, 25);
  const begun: string[] = [];
  for (const name of ["slow", "b", "c"]) turns.ask(() => begun.push(name));

  clock.advance(24);
  assert.deepEqual(begun, ["slow"]);
  clock.advance(1);
  assert.deepEqual(begun, ["slow", "b"]);
  clock.advance(25);
  assert.deepEqual(begun, ["slow", "b", "c"]);
});

test("while one takes too long the others still go one at a time, and all that end leave a free turn", () => {
  const clock = manualClock();
  const turns = takeTurns(clock, 25);
  const begun: string[] = [];
  turns.ask(() => begun.push("slow"));
  clock.advance(1_000);

  turns.ask(() => begun.push("b"));
  assert.deepEqual(begun, ["slow"], "asked just now");
  clock.advance(25);
  turns.over();
  turns.over();
  turns.ask(() => begun.push("c"));

  assert.deepEqual(begun, ["slow", "b", "c"]);
  assert.equal(clock.waiting(), 0, "no timer is left");
});
