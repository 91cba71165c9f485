import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isId } from "#platform";
import { eventId, newMessageId, parseEventId } from "./message-id.ts";

const NOW_MS = Date.UTC(2100, 0, 1);

test("a message's id ends in 0, its nth event's in n, and each is found from the other", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 15 }), (sequence) => {
      const messageId = newMessageId(NOW_MS);
      assert.match(messageId, /0$/);
      const id = eventId(messageId, sequence);
      assert.ok(isId(id));
      assert.deepEqual(parseEventId(id), { messageId, sequence });
    }),
  );
});

test("anything else is no event id: rubbish, or the id of a message", () => {
  assert.equal(parseEventId(newMessageId(NOW_MS)), undefined);
  for (const text of ["", "x", "019a85c2-5b00-7abc-8def-01234567890g"]) {
    assert.equal(parseEventId(text), undefined);
  }
});
