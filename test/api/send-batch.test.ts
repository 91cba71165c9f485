import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "#platform";
import { problemOf, UUID_V7, wrongFields } from "../support/answers.ts";
import { startApi, type TestKey } from "../support/api.ts";

const api = await startApi({ settings: { RATE_LIMIT_SENDS_BURST: "5000" } });
after(() => api[Symbol.asyncDispose]());

const message = { recipient: "4915112345678", text: "Hello" };
const many = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ ...message, reference: `n${n}` }));

async function storedBy({ accountId }: TestKey): Promise<{ messages: number; balance: number }> {
  const [row] = await api.db.query<{ messages: number; balance: number }>(sql`
    select (select count(*) from messages m where m.account_id = a.account_id) as messages, balance
      from accounts a where account_id = ${accountId}`);
  assert.ok(row);
  return row;
}

test("a batch of 1,000 is accepted whole and answered in order", async () => {
  const account = await api.createAccount(1_000);

  const answer = await api.post("/v1/messages/batch", { messages: many(1_000) }, account);

  assert.equal(answer.statusCode, 202);
  assert.deepEqual(Object.keys(answer.json()), ["data"]);
  const data = answer.json().data as Record<string, unknown>[];
  assert.deepEqual(
    data.map(({ reference }) => reference),
    many(1_000).map(({ reference }) => reference),
  );
  assert.equal(new Set(data.map(({ messageId }) => messageId)).size, 1_000);
  assert.ok(data.every(({ messageId }) => UUID_V7.test(String(messageId))));
  assert.deepEqual(await storedBy(account), { messages: 1_000, balance: 0 });
  const read = await api.get(`/v1/messages/${String(data[7]?.["messageId"])}`, account);
  assert.deepEqual(read.json(), data[7]);
});

test("a batch holds 1 to 1,000 messages", async () => {
  for (const body of [{ messages: [] }, { messages: many(1_001) }, { messages: "x" }]) {
    const answer = await api.post("/v1/messages/batch", body);
    assert.deepEqual(wrongFields(answer), { messages: "FIELD_INVALID" });
  }
  assert.deepEqual(wrongFields(await api.post("/v1/messages/batch", {})), {
    messages: "FIELD_REQUIRED",
  });
  const wrong = { messages: many(1_010).map((each) => ({ ...each, recipient: "12" })) };
  const named = Object.keys(wrongFields(await api.post("/v1/messages/batch", wrong)));
  assert.equal(
    named.at(-1),
    "messages[999].recipient",
    "of more than a thousand no more is judged",
  );
  const strange = await api.post("/v1/messages/batch", { messages: [message], message: 1 });
  assert.match(strange.json().error.details[0].message, /Did you mean messages\?/);
});

test("a batch with one wrong message is refused whole, and each wrong field is named", async () => {
  const account = await api.createAccount(100);
  const messages: unknown[] = many(6);
  messages[1] = { ...message, recipient: "12" };
  messages[3] = { text: 5, sender: "", to: "1" };
  messages[4] = "text";
  messages[5] = { ...message, metadata: { a: 1 } };

  const answer = await api.post("/v1/messages/batch", { messages }, account);

  assert.deepEqual(wrongFields(answer), {
    "messages[1].recipient": "RECIPIENT_INVALID",
    "messages[3].recipient": "FIELD_REQUIRED",
    "messages[3].text": "TEXT_INVALID",
    "messages[3].to": "FIELD_UNKNOWN",
    "messages[3].sender": "SENDER_INVALID",
    "messages[4]": "FIELD_INVALID",
    "messages[5].metadata.a": "METADATA_INVALID",
  });
  assert.deepEqual(await storedBy(account), { messages: 0, balance: 100 });
});

test("a batch in which everything is wrong is refused, with every error named", async () => {
  const messages = Array.from({ length: 1_000 }, () => ({ recipient: 1, text: 2, x: 3, y: 4 }));

  const answer = await api.post("/v1/messages/batch", { messages });

  const { details } = problemOf(answer, "VALIDATION_FAILED");
  assert.equal(details.length, 4_000);
  assert.equal(details[0]?.field, "messages[0].recipient");
});

test("a batch that the account cannot pay for stores nothing, and its refusal names the cost", async () => {
  const account = await api.createAccount(5);
  const long = { ...message, text: "a".repeat(161) };

  const answer = await api.post("/v1/messages/batch", { messages: [...many(4), long] }, account);

  const { details } = problemOf(answer, "CREDITS_INSUFFICIENT");
  assert.partialDeepStrictEqual(details, [{ field: null, required: 6, available: 5 }]);
  assert.deepEqual(await storedBy(account), { messages: 0, balance: 5 });
  const fits = await api.post("/v1/messages/batch", { messages: many(5) }, account);
  assert.equal(fits.statusCode, 202);
  assert.deepEqual(await storedBy(account), { messages: 5, balance: 0 });
});

test("in a batch too, a message without a route and one above maxCredits are named", async () => {
  await using routed = await startApi({ credits: 10 });
  await routed.db.query(sql`update routes set prefix = '49' where prefix = ''`);
  const british = { ...message, recipient: "447911123456" };

  const unserved = await routed.post("/v1/messages/batch", { messages: [message, british] });
  const dear = await routed.post("/v1/messages/batch", {
    messages: [message, { ...message, text: "a".repeat(161), maxCredits: 1 }],
  });

  assert.equal(
    problemOf(unserved, "RECIPIENT_NOT_SERVED").details[0]?.field,
    "messages[1].recipient",
  );
  assert.equal(problemOf(dear, "PRICE_ABOVE_LIMIT").details[0]?.field, "messages[1].maxCredits");
});

test("wrong types, wrong values, missing routes and prices above maxCredits are all named in one answer", async () => {
  await using routed = await startApi({ credits: 10 });
  await routed.db.query(sql`update routes set prefix = '49' where prefix = ''`);
  const unserved = { ...message, recipient: "447911123456", maxCredits: null };
  const dear = { ...message, text: "a".repeat(161), maxCredits: 1 };
  const both = { ...dear, recipient: "447911123456" };
  const invalid = { ...message, recipient: "1" };
  const misshapen = { ...both, metadata: [] };
  const named = async (...messages: unknown[]) => {
    const answer = await routed.post("/v1/messages/batch", { messages });
    const { code, details } = answer.json().error as ReturnType<typeof problemOf>;
    return [code, ...details.map((detail) => `${detail.field} ${detail.code}`)];
  };

  assert.deepEqual(await named(unserved, dear, invalid), [
    "VALIDATION_FAILED",
    "messages[0].recipient RECIPIENT_NOT_SERVED",
    "messages[1].maxCredits PRICE_ABOVE_LIMIT",
    "messages[2].recipient RECIPIENT_INVALID",
  ]);
  assert.deepEqual(await named(unserved, misshapen), [
    "VALIDATION_FAILED",
    "messages[1].metadata METADATA_INVALID",
    "messages[0].recipient RECIPIENT_NOT_SERVED",
    "messages[1].recipient RECIPIENT_NOT_SERVED",
    "messages[1].maxCredits PRICE_ABOVE_LIMIT",
  ]);
  assert.deepEqual(await named(dear, both), [
    "RECIPIENT_NOT_SERVED",
    "messages[0].maxCredits PRICE_ABOVE_LIMIT",
    "messages[1].recipient RECIPIENT_NOT_SERVED",
    "messages[1].maxCredits PRICE_ABOVE_LIMIT",
  ]);
});

test("each message of a batch counts against the rate", async () => {
  await using slow = await startApi({
    db: api.db,
    credits: 100,
    settings: { RATE_LIMIT_SENDS: "1", RATE_LIMIT_SENDS_BURST: "10" },
  });

  const first = await slow.post("/v1/messages/batch", { messages: many(7) });
  const second = await slow.post("/v1/messages/batch", { messages: many(7) });

  assert.equal(first.headers["ratelimit-remaining"], "3");
  problemOf(second, "RATE_LIMITED");
  assert.ok(Number(second.headers["retry-after"]) >= 3);
});
