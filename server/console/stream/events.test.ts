import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, writeEvents } from "./events.ts";

const change = (kind: string, ids: string[] = [], versions: number[] = [], is_charged = false) => ({
  account_id: "a",
  kind,
  ids,
  versions,
  is_charged,
});

test("what changed twice is told once, a message with its latest version", () => {
  const events = eventsOf([
    change("message", ["m1", "m2"], [1, 1], true),
    change("message", ["m1"], [3]),
    change("message", ["m1"], [2]),
    change("credits", ["a"], [], true),
  ]);

  assert.deepEqual(events, [
    { type: "message", id: "m1", version: 3 },
    { type: "message", id: "m2", version: 1 },
    { type: "credits" },
  ]);
});

test("more than 200 messages at once are told without their ids", () => {
  const ids = Array.from({ length: 201 }, (_, n) => `m${n}`);
  const events = eventsOf([
    change(
      "message",
      ids,
      ids.map(() => 1),
      true,
    ),
    change("key", ["k1"]),
  ]);

  assert.deepEqual(events, [{ type: "messages" }, { type: "key", id: "k1" }, { type: "credits" }]);
});

test("too many other changes at once are told as one of everything", () => {
  const ids = Array.from({ length: 201 }, (_, n) => `k${n}`);

  assert.deepEqual(eventsOf([change("key", ids), change("credits")]), [{ type: "all" }]);
});

test("only the last event of a batch moves the place to resume from", () => {
  const text = writeEvents([{ type: "key", id: "k1" }, { type: "credits" }], "7.9");

  assert.equal(text, 'data: {"type":"key","id":"k1"}\n\nid: 7.9\ndata: {"type":"credits"}\n\n');
});
