import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { NewMessage } from "#contract";
import { splitText } from "#contract/segments";
import { anyCharacter } from "../../test/support/any-character.ts";
import { concatReferences } from "./concat-reference.ts";
import { type DraftContext, draftMessage, judgeFields } from "./draft.ts";
import { present } from "./message-row.ts";

const now = new Date("2126-11-15T09:30:00.123Z");
const context: DraftContext = {
  now,
  routing: { version: 1, carriersFor: () => ["carrier"], priceFor: () => 3 },
  judgeUrl: () => ({ allowed: true }),
  concatReference: () => 7,
};
const good = { recipient: "4915112345678", text: "Hello" };

function drafted(fields: Partial<NewMessage> = {}) {
  const draft = draftMessage({ ...good, ...fields }, context);
  assert.equal(draft.outcome, "drafted");
  return draft.message;
}

test("a draft is charged by segment at the price of its recipient", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_530 }), (length) => {
      const text = "a".repeat(length);
      const message = drafted({ text });
      assert.equal(message.segments, splitText(text).parts.length);
      assert.equal(message.credits, message.segments * 3);
    }),
  );
});

test("only a message of several segments gets a reference to join them by", () => {
  assert.equal(drafted().concat_reference, 0);
  assert.equal(drafted({ text: "a".repeat(161) }).concat_reference, 7);
});

test("256 long messages to one recipient have different references, whoever sends them", () => {
  const counting = { ...context, concatReference: concatReferences() };
  const references = Array.from({ length: 256 }, (_, n) => {
    // A message without a sender may get the same one from its account or carrier.
    const named = n % 2 === 0 ? { sender: "Posthorn" } : {};
    const draft = draftMessage({ ...good, text: "a".repeat(161), ...named }, counting);
    return draft.outcome === "drafted" && draft.message.concat_reference;
  });
  assert.equal(new Set(references).size, 256);
});

test("after a restart references begin elsewhere, not at those that handsets have just had", () => {
  const firsts = Array.from({ length: 20 }, () => concatReferences()("4915112345678"));

  assert.notEqual(new Set(firsts).size, 1);
});

test("a message's time is the one in its id, so that lists and filters agree", () => {
  fc.assert(
    fc.property(fc.nat(100), () => {
      const { message_id: id, created_at: at } = drafted();
      assert.equal(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), at.getTime());
    }),
  );
});

test("validity counts from sendAt, else from acceptance, and is a day by default", () => {
  const DAY_MS = 86_400_000;
  const at = drafted();
  assert.equal(at.expires_at.getTime(), at.created_at.getTime() + DAY_MS);
  const sendAt = new Date(now.getTime() + 5_000);
  const later = drafted({ sendAt: sendAt.toISOString(), validitySeconds: 60 });
  assert.equal(later.expires_at.getTime(), sendAt.getTime() + 60_000);
});

test("sendAt is exact to the millisecond: now is too early, and 35 days ahead is the latest", () => {
  const invalid = (ms: number) => {
    const sendAt = new Date(now.getTime() + ms).toISOString();
    return draftMessage({ ...good, sendAt }, context).outcome === "invalid";
  };
  const LIMIT_MS = 35 * 86_400_000;

  assert.deepEqual([0, 1, LIMIT_MS, LIMIT_MS + 1].map(invalid), [true, false, false, true]);
});

test("a text is stored as given, to the last unit", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 60 }), (text) => {
      const draft = draftMessage({ ...good, text }, context);
      if (draft.outcome === "drafted") assert.equal(present(draft.message).text, text);
      else
        assert.deepEqual(
          draft.details.map(({ field }) => field),
          ["text"],
        );
    }),
  );
});

test("whatever types a body has, judging it names fields and never throws", () => {
  const names = ["recipient", "text", "sender", "callbackUrl", "reference", "metadata"];
  const more = ["encoding", "maxCredits", "sendAt", "validitySeconds"];
  const body = fc.dictionary(fc.constantFrom(...names, ...more), fc.jsonValue({ maxDepth: 2 }));
  fc.assert(
    fc.property(body, (given) => {
      const { details } = judgeFields(given as unknown as NewMessage, context);
      for (const { field } of details) assert.ok(Object.hasOwn(given, field ?? ""));
    }),
    { numRuns: 500 },
  );
});
