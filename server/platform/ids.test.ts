import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { idFloor, isId, newId, newIdOf, readId, timeOfId } from "./ids.ts";

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const START_MS = Date.UTC(2100, 0, 1);

test("an id is a UUIDv7 with its time in the first 48 bits", () => {
  const id = newId(START_MS);

  assert.match(id, V7);
  assert.equal(timeOfId(id).getTime(), START_MS);
});

test("ids of a process never go backwards and never repeat, even if its clock steps back a little", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 50 }), (jumps) => {
      let nowMs = START_MS + 1_000;
      const ids = jumps.map((jump) => newId((nowMs += jump)));
      assert.deepEqual(ids, [...new Set(ids)].toSorted());
      for (const id of ids) assert.match(id, V7);
    }),
  );
});

test("an id has the right time again once a clock that was ahead is corrected", () => {
  newId(START_MS + 86_400_000);

  const ids = Array.from({ length: 3 }, () => newId(START_MS));

  assert.deepEqual(
    ids.map((id) => timeOfId(id).getTime()),
    [START_MS, START_MS, START_MS],
  );
  assert.deepEqual(ids, ids.toSorted());
});

test("an id for another time does not disturb the order of present ids", () => {
  const before = newId(START_MS + 40_000);
  const old = [0, 1, 2].map((place) => newIdOf(new Date(START_MS - 86_400_000), place));
  const after = newId(START_MS + 39_990);

  for (const id of old) {
    assert.match(id, V7);
    assert.equal(timeOfId(id).getTime(), START_MS - 86_400_000);
  }
  assert.deepEqual(old, old.toSorted());
  assert.ok(before < after);
});

test("a hundred thousand ids of one millisecond are all different, and in order", () => {
  const ids = Array.from({ length: 100_000 }, () => newId(START_MS + 50_000));

  assert.deepEqual(ids, [...new Set(ids)].toSorted());
});

test("the floor of a moment is at or below every id of it, and above every earlier one", () => {
  const ids = Array.from({ length: 50 }, (_, n) => newId(START_MS + 100_000 + n));
  for (const id of ids) {
    const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    assert.ok(idFloor(new Date(ms)) <= id);
    assert.ok(idFloor(new Date(ms + 1)) > id);
  }
  assert.equal(idFloor(new Date(-1)), idFloor(new Date(0)));
});

test("only a UUID is an id, and is written in lower case; nothing else ever reaches the database", () => {
  const id = newId(START_MS);
  assert.ok(isId(id) && !isId(id.toUpperCase()));
  assert.deepEqual([readId(id), readId(id.toUpperCase())], [id, id]);
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.ok(!isId(text) && readId(text) === undefined);
    }),
  );
  for (const text of [`${id}\n`, ` ${id}`, `{${id}}`, `urn:uuid:${id}`, id.replaceAll("-", "")]) {
    assert.ok(!isId(text) && readId(text) === undefined);
  }
});
