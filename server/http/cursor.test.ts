import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../test/support/any-character.ts";
import { cursors } from "./cursor.ts";

const made = cursors(Buffer.alloc(32, 1));
const id = fc.uuid();

test("a cursor leads back to the id it was made from, with the filters it was made with", () => {
  fc.assert(
    fc.property(id, fc.string(), (messageId, boundTo) => {
      const cursor = made.make(messageId, boundTo);
      assert.match(cursor, /^[A-Za-z0-9_-]+$/, "it needs no escaping in a URL");
      assert.equal(made.read(cursor, boundTo), messageId);
    }),
  );
});

test("a cursor is refused with other filters, for another account or by another installation", () => {
  fc.assert(
    fc.property(id, fc.string(), fc.string(), (messageId, one, other) => {
      fc.pre(one !== other);
      const cursor = made.make(messageId, one);
      assert.equal(made.read(cursor, other), undefined);
      assert.equal(cursors(Buffer.alloc(32, 2)).read(cursor, one), undefined);
    }),
  );
});

test("while the key is being changed, a cursor of the previous key still works", () => {
  const [old, present] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const changing = cursors(present, old);
  fc.assert(
    fc.property(id, fc.string(), (messageId, boundTo) => {
      assert.equal(changing.read(made.make(messageId, boundTo), boundTo), messageId);
      assert.equal(cursors(present).read(changing.make(messageId, boundTo), boundTo), messageId);
    }),
  );
});

test("a cursor with anything changed, cut or added is refused", () => {
  const position = fc.nat(37);
  fc.assert(
    fc.property(id, position, fc.base64String(), (messageId, at, junk) => {
      const cursor = made.make(messageId, "x");
      const changed = cursor.slice(0, at) + junk + cursor.slice(at + 1);
      assert.equal(made.read(changed, "x"), changed === cursor ? messageId : undefined);
      assert.equal(made.read(cursor.slice(0, at), "x"), undefined);
      assert.equal(made.read(`${cursor}=`, "x"), undefined, "also what a decoder passes over");
    }),
  );
});

test("rubbish is refused, and never causes a fault", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (rubbish) => {
      assert.equal(made.read(rubbish, "x"), undefined);
    }),
  );
});
