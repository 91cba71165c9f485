import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "#platform";
import { problemOf, wrongFields } from "../support/answers.ts";
import { startApi } from "../support/api.ts";

const api = await startApi({ credits: 42 });
after(() => api[Symbol.asyncDispose]());

const message = { recipient: "+4915112345678", text: "Hello" };
const preview = (fields: object) => api.post("/v1/messages/preview", { ...message, ...fields });

test("a preview shows what a message would cost, and has every field", async () => {
  const answer = await preview({});

  assert.equal(answer.statusCode, 200);
  assert.deepEqual(answer.json(), {
    recipient: "4915112345678",
    country: "DE",
    encoding: "gsm7",
    segments: 1,
    credits: 1,
    balance: 42,
    nonGsmCharacters: [],
  });
});

test("a preview names each character outside the GSM alphabet with its position", async () => {
  const answer = await preview({ text: "a👍€ж👍" });

  assert.partialDeepStrictEqual(answer.json(), {
    encoding: "ucs2",
    nonGsmCharacters: [
      { character: "👍", position: 1 },
      { character: "ж", position: 4 },
      { character: "👍", position: 5 },
    ],
  });
});

test("a preview names every such character even in the longest text", async () => {
  const answer = await preview({ text: "ж".repeat(670) });

  const { segments, nonGsmCharacters } = answer.json<{ segments: number; nonGsmCharacters: [] }>();
  assert.equal(segments, 10);
  assert.equal(nonGsmCharacters.length, 670);
  assert.deepEqual(nonGsmCharacters.at(-1), { character: "ж", position: 669 });
});

test("a preview accepts every field of a send and validates it as a send would", async () => {
  const fine = {
    sender: "Posthorn",
    callbackUrl: "https://example.com/hook",
    reference: "r",
    metadata: { a: "b" },
    encoding: "ucs2",
    maxCredits: 5,
    sendAt: new Date(Date.now() + 60_000).toISOString(),
    validitySeconds: 60,
  };
  assert.equal((await preview(fine)).statusCode, 200);
  const wrong = { recipient: "1", text: "", sender: "", callbackUrl: "x", reference: "", extra: 1 };

  assert.deepEqual(wrongFields(await preview(wrong)), wrongFields(await api.send({ ...wrong })));
  problemOf(await preview({ text: "a".repeat(161), maxCredits: 1 }), "PRICE_ABOVE_LIMIT");
});

test("a preview reports a price above maxCredits along with the other wrong fields", async () => {
  const dear = { text: "a".repeat(161), maxCredits: 1 };

  assert.deepEqual(wrongFields(await preview({ ...dear, sender: "" })), {
    sender: "SENDER_INVALID",
    maxCredits: "PRICE_ABOVE_LIMIT",
  });
  assert.deepEqual(wrongFields(await preview({ ...dear, encoding: "utf8" })), {
    encoding: "ENCODING_INVALID",
  });
  assert.deepEqual(wrongFields(await preview({ ...dear, extra: 1 })), {
    extra: "FIELD_UNKNOWN",
    maxCredits: "PRICE_ABOVE_LIMIT",
  });
});

test("a number of no country has no country; prices are the current ones", async () => {
  await api.db.query(sql`insert into prices (prefix, credits) values ('883', 9)`);

  const answer = await preview({ recipient: "883510012345" });

  assert.partialDeepStrictEqual(answer.json(), { country: null, credits: 9 });
});

test("a preview works without credits to pay for it; no preview stores or charges anything", async () => {
  const answer = await preview({ text: "a".repeat(1_530), recipient: "883510012345" });

  assert.equal(answer.statusCode, 200);
  assert.partialDeepStrictEqual(answer.json(), { credits: 90, balance: 42 });
  assert.deepEqual(await api.db.query(sql`select message_id from messages`), []);
  assert.deepEqual(await api.db.query(sql`select kind from ledger`), [{ kind: "topup" }]);
});
