import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../../test/support/manual-clock.ts";
import { takeTurns } from "./turns.ts";

/** Records who has begun, and keeps the functions that end their turns. */
function askers(clock = manualClock()) {
  const turns = takeTurns(clock, 25);
  const begun: string[] = [];
  const over: Record<string, () => void> = {};
  const ask = (name: string) =>
    turns((end) => {
      begun.push(name);
      over[name] = end;
    });
  return { clock, begun, ask, end: (name: string) => over[name]?.() };
}

test("the first turn begins at once, and each other when the one before it has ended, in order of asking", () => {
  const { begun, ask, end, clock } = askers();

  for (const name of ["a", "b", "c"]) ask(name);

  assert.deepEqual(begun, ["a"]);
  end("a");
  assert.deepEqual(begun, ["a", "b"]);
  end("b");
  assert.deepEqual(begun, ["a", "b", "c"]);
  assert.equal(clock.waiting(), 0, "no timer is left");
});

test("a turn that takes too long is waited for no longer, counted from its own beginning", () => {
  const { begun, ask, clock } = askers();
  ask("slow");
  clock.advance(20);
  for (const name of ["b", "c"]) ask(name);

  clock.advance(4);
  assert.deepEqual(begun, ["slow"]);
  clock.advance(1);
  assert.deepEqual(begun, ["slow", "b"]);
  clock.advance(25);
  assert.deepEqual(begun, ["slow", "b", "c"]);
});

test("a turn that hangs is waited for once, and when it ends after all, it ends no other's turn", () => {
  const { begun, ask, end, clock } = askers();
  ask("hangs");
  clock.advance(25);

  for (const name of ["b", "c"]) {
    ask(name);
    assert.equal(begun.at(-1), name, "at once");
    if (name === "b") end(name);
  }
  ask("d");
  end("hangs");
  assert.equal(begun.at(-1), "c");
  end("c");

  assert.equal(begun.at(-1), "d");
});
