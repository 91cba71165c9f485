import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "#platform";
import { TIME, UUID_V7, wrongFields } from "../support/answers.ts";
import { startApi } from "../support/api.ts";

const api = await startApi({ credits: 1_000 });
after(() => api[Symbol.asyncDispose]());

const recipient = "4915112345678";
const good = { recipient, text: "Hello" };
const DAY_MS = 86_400_000;

async function accepted(fields: object): Promise<Record<string, unknown>> {
  const answer = await api.send({ ...good, ...fields });
  assert.equal(answer.statusCode, 202, answer.body);
  return answer.json();
}

async function refusedFields(fields: object): Promise<Record<string, string>> {
  return wrongFields(await api.send({ ...good, ...fields }));
}

test("the answer to a send has every field of a message, null if it has no value", async () => {
  const message = await accepted({});

  const { messageId, createdAt, expiresAt, updatedAt, ...rest } = message;
  assert.match(String(messageId), UUID_V7);
  assert.match(String(createdAt), TIME);
  assert.equal(Date.parse(String(expiresAt)), Date.parse(String(createdAt)) + DAY_MS);
  assert.equal(updatedAt, createdAt);
  assert.deepEqual(rest, {
    recipient,
    sender: null,
    text: "Hello",
    status: "QUEUED",
    encoding: "gsm7",
    segments: 1,
    credits: 1,
    creditsRefunded: 0,
    reference: null,
    metadata: null,
    callbackUrl: null,
    error: null,
    sendAt: null,
    sentAt: null,
    deliveredAt: null,
  });
});

test("the fields a client sets are in the answer, and again when the message is read", async () => {
  const given = {
    recipient: "+4915112345678",
    text: "Grüße, Ωmega {€}",
    sender: "Post-Horn 1",
    callbackUrl: "https://example.com/hooks?a=1",
    reference: "order-4711 ✓",
    metadata: { order: "4711", empty: "", "👍": "ü", ["__proto__"]: "x", constructor: "y" },
    encoding: "ucs2",
    maxCredits: 1,
    sendAt: new Date(Date.now() + DAY_MS).toISOString(),
    validitySeconds: 3_600,
  };

  const message = await accepted(given);
  const read = await api.get(`/v1/messages/${String(message["messageId"])}`);

  const { recipient: _plus, maxCredits: _max, validitySeconds: _validity, ...shown } = given;
  assert.partialDeepStrictEqual(message, { ...shown, recipient, encoding: "ucs2" });
  assert.equal(
    Date.parse(String(message["expiresAt"])),
    Date.parse(given.sendAt) + given.validitySeconds * 1_000,
  );
  assert.deepEqual(read.json(), message);
});

test("null for an optional field is the same as leaving it out", async () => {
  const names = ["sender", "callbackUrl", "reference", "metadata", "encoding"];
  const more = ["maxCredits", "sendAt", "validitySeconds"];
  const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]));

  const [withNulls, without] = [await accepted(nulls), await accepted({})];

  const { messageId: _a, createdAt: _b, expiresAt: _c, updatedAt: _d, ...same } = withNulls;
  assert.partialDeepStrictEqual(without, same);
});

test("a message without a sender gets the account's default", async () => {
  const { key, accountId } = await api.createAccount(10);
  await api.db.query(
    sql`update accounts set default_sender = 'House' where account_id = ${accountId}`,
  );

  const [own, other] = [
    await api.send(good, { key }),
    await api.send({ ...good, sender: "Own" }, { key }),
  ];

  assert.equal(own.json().sender, "House");
  assert.equal(other.json().sender, "Own");
  const stored = await api.db.query(sql`
    select sender from messages where account_id = ${accountId} order by message_id`);
  assert.deepEqual(stored, [{ sender: "House" }, { sender: "Own" }]);
});

test("a sender is a number, a short code or a name, and nothing else", async () => {
  const fine = { "+4915112345678": recipient, "12345": "12345", "A&B_c.d-e 1": "A&B_c.d-e 1" };
  for (const [given, shown] of Object.entries(fine)) {
    assert.equal((await accepted({ sender: given }))["sender"], shown);
  }
  for (const sender of ["", "12", "Twelve chars", "Ünal", "a\n", "1 2 3", "+12", "a\0", "١٢٣"]) {
    assert.deepEqual(await refusedFields({ sender }), { sender: "SENDER_INVALID" }, sender);
  }
});

test("a recipient has 7 to 15 digits and is valid in its country; a likely correction is named", async () => {
  for (const wrong of ["", "+", "123456", "1234567890123456", "49151 12345678", "4915a12345678"]) {
    assert.deepEqual(await refusedFields({ recipient: wrong }), { recipient: "RECIPIENT_INVALID" });
  }
  for (const wrong of ["004915112345678", "+49 151 1234-5678", "+49 (0)151 12345678"]) {
    const answer = await api.send({ ...good, recipient: wrong });
    assert.match(answer.json().error.details[0].message, /Did you mean 4915112345678\?/, wrong);
  }
  assert.equal((await accepted({ recipient: "493012345678" }))["recipient"], "493012345678");
});

test("a text needs a visible character, and has no NUL and no lone surrogate", async () => {
  const blanks = ["", " \t\r\n", "\u200b\u200d\ufeff", "\u0007\u001b", "\u00a0\u3000", "\u202e"];
  for (const text of [...blanks, "a\0b", "\0"]) {
    assert.deepEqual(await refusedFields({ text }), { text: "TEXT_INVALID" }, JSON.stringify(text));
  }
  const half = await api.send(`{"recipient":"${recipient}","text":"half \\ud83d"}`);
  assert.deepEqual(wrongFields(half), { text: "TEXT_INVALID" });
  for (const text of ["a", "0", ".", "ü", "👍", "\ue000", "\u202e abc", "  x  "]) {
    assert.equal((await accepted({ text }))["text"], text, "never changed, never cut");
  }
});

test("a text of 10 segments is accepted, one more character is not", async () => {
  for (const [text, encoding] of [
    ["a".repeat(1_530), "gsm7"],
    ["€".repeat(760), "gsm7"],
    ["ж".repeat(670), "ucs2"],
    ["👍".repeat(330), "ucs2"],
  ] as const) {
    assert.partialDeepStrictEqual(await accepted({ text }), {
      encoding,
      segments: 10,
      credits: 10,
    });
    assert.deepEqual(await refusedFields({ text: text + text }), { text: "TEXT_TOO_LONG" });
  }
  assert.deepEqual(await refusedFields({ text: "a".repeat(1_531) }), { text: "TEXT_TOO_LONG" });
  assert.deepEqual(await refusedFields({ text: "€".repeat(761) }), { text: "TEXT_TOO_LONG" });
  assert.deepEqual(await refusedFields({ text: "ж".repeat(671) }), { text: "TEXT_TOO_LONG" });
  assert.deepEqual(await refusedFields({ text: "👍".repeat(331) }), { text: "TEXT_TOO_LONG" });
});

test("encoding gsm7 refuses a text that does not fit and names the characters", async () => {
  const answer = await api.send({ ...good, text: "a ж b 👍", encoding: "gsm7" });

  assert.deepEqual(wrongFields(answer), { text: "TEXT_NOT_GSM7" });
  assert.match(answer.json().error.details[0].message, /"ж" at 2, "👍" at 6/);
  assert.partialDeepStrictEqual(await accepted({ text: "{€}", encoding: "gsm7" }), { segments: 1 });
  assert.partialDeepStrictEqual(await accepted({ text: "abc", encoding: "ucs2" }), {
    encoding: "ucs2",
  });
  assert.deepEqual(await refusedFields({ encoding: "utf8" }), { encoding: "ENCODING_INVALID" });
  assert.deepEqual(await refusedFields({ encoding: "GSM7" }), { encoding: "ENCODING_INVALID" });
});

test("a callback address is an absolute http(s) URL without user info, fragment or forbidden host", async () => {
  const long = `https://example.com/${"a".repeat(2_028)}`;
  assert.equal((await accepted({ callbackUrl: long }))["callbackUrl"], long);
  for (const callbackUrl of [
    "",
    "example.com",
    "/hook",
    "ftp://example.com",
    "https://",
    `${long}a`,
  ]) {
    assert.deepEqual(await refusedFields({ callbackUrl }), { callbackUrl: "CALLBACK_URL_INVALID" });
  }
  for (const callbackUrl of ["https://u:p@example.com", "https://example.com/#a", "https://a b"]) {
    assert.deepEqual(await refusedFields({ callbackUrl }), { callbackUrl: "CALLBACK_URL_INVALID" });
  }
  for (const callbackUrl of [
    "https://169.254.169.254/",
    "https://10.0.0.1/",
    "https://[fe80::1]/",
  ]) {
    assert.deepEqual(await refusedFields({ callbackUrl }), {
      callbackUrl: "CALLBACK_URL_FORBIDDEN",
    });
  }
});

test("a reference has at most 128 characters, of any kind", async () => {
  for (const reference of ["x".repeat(128), "👍".repeat(128), "", " ", "a\nb\u001b"]) {
    assert.equal((await accepted({ reference }))["reference"], reference);
  }
  for (const reference of ["x".repeat(129), "👍".repeat(129), "a\0b", "a\ud800"]) {
    assert.deepEqual(await refusedFields({ reference }), { reference: "REFERENCE_INVALID" });
  }
});

test("metadata is an object of at most 20 string values and 2 KB in all", async () => {
  const entries = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, "v"]));
  assert.deepEqual((await accepted({ metadata: entries(20) }))["metadata"], entries(20));
  assert.deepEqual((await accepted({ metadata: {} }))["metadata"], {});
  for (const metadata of [entries(21), { a: "x".repeat(2_048) }, { "a\0": "b" }, "text", [], 5]) {
    assert.deepEqual(await refusedFields({ metadata }), { metadata: "METADATA_INVALID" });
  }
  assert.deepEqual(await refusedFields({ metadata: { a: 1, b: "x", "3": null, "c.d": {} } }), {
    "metadata.a": "METADATA_INVALID",
    "metadata.3": "METADATA_INVALID",
    "metadata.c.d": "METADATA_INVALID",
  });
});

test("maxCredits is a whole number of 1 or more; a higher price is refused", async () => {
  for (const maxCredits of [0, -1, 1.5, "1", true, [], 2 ** 53]) {
    assert.deepEqual(await refusedFields({ maxCredits }), { maxCredits: "MAX_CREDITS_INVALID" });
  }
  const text = "a".repeat(161);
  assert.equal((await accepted({ text, maxCredits: 2 }))["credits"], 2);

  const answer = await api.send({ ...good, text, maxCredits: 1 });

  assert.equal(answer.statusCode, 422);
  assert.partialDeepStrictEqual(answer.json().error, {
    code: "PRICE_ABOVE_LIMIT",
    details: [{ field: "maxCredits" }],
  });
});

test("sendAt is a future time within 35 days, in any zone", async () => {
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const inZone = at(DAY_MS + 7_200_000).replace("Z", "+02:00");
  const message = await accepted({ sendAt: inZone });
  assert.equal(message["sendAt"], new Date(inZone).toISOString());
  assert.equal(message["status"], "QUEUED");
  await accepted({ sendAt: at(35 * DAY_MS - 60_000) });
  for (const sendAt of [
    at(-1),
    at(35 * DAY_MS + 60_000),
    "tomorrow",
    "2026-12-24",
    "",
    "2027-02-30T10:00:00Z",
  ]) {
    assert.deepEqual(await refusedFields({ sendAt }), { sendAt: "SEND_AT_INVALID" }, sendAt);
  }
  assert.deepEqual(await refusedFields({ sendAt: Date.now() + DAY_MS }), {
    sendAt: "SEND_AT_INVALID",
  });
});

test("a scheduled message is charged at once and due only at its time", async () => {
  const { key, accountId } = await api.createAccount(10);
  const sendAt = new Date(Date.now() + DAY_MS);

  await api.send({ ...good, sendAt: sendAt.toISOString() }, { key });

  assert.deepEqual((await api.get("/v1/credits", { key })).json(), { balance: 9 });
  const queue = await api.db.query(
    sql`select due_at from send_queue where account_id = ${accountId}`,
  );
  assert.deepEqual(queue, [{ due_at: sendAt }]);
});

test("validitySeconds is a whole number from 60 to 259200", async () => {
  for (const validitySeconds of [60, 259_200]) {
    const message = await accepted({ validitySeconds });
    const validMs =
      Date.parse(String(message["expiresAt"])) - Date.parse(String(message["createdAt"]));
    assert.equal(validMs, validitySeconds * 1_000);
  }
  for (const validitySeconds of [59, 259_201, 60.5, "60", -60]) {
    assert.deepEqual(await refusedFields({ validitySeconds }), {
      validitySeconds: "VALIDITY_SECONDS_INVALID",
    });
  }
});

test("an unknown field is refused, with the closest valid one named", async () => {
  const answer = await api.send({
    recipent: recipient,
    text: "x",
    callback_url: "x",
    zzz: 1,
    to: "1",
  });

  const messages = Object.fromEntries(
    answer
      .json()
      .error.details.map(({ field, message }: { field: string; message: string }) => [
        field,
        message,
      ]),
  );
  assert.equal(messages["recipent"], "There is no field recipent. Did you mean recipient?");
  assert.equal(
    messages["callback_url"],
    "There is no field callback_url. Did you mean callbackUrl?",
  );
  assert.equal(messages["to"], "There is no field to. Did you mean recipient?");
  assert.match(messages["zzz"], /^There is no field zzz\. Known are: recipient, text, /);
  assert.equal(messages["recipient"], "recipient is required.");
});

test("every wrong field is named at once, whatever is wrong with it", async () => {
  const answer = await api.send({
    recipient: "nobody",
    text: "\0",
    sender: "",
    callbackUrl: "ftp://x",
    reference: 5,
    metadata: { a: 1 },
    encoding: "utf8",
    maxCredits: 0,
    sendAt: "never",
    validitySeconds: 1,
    extra: true,
  });

  assert.deepEqual(wrongFields(answer), {
    recipient: "RECIPIENT_INVALID",
    text: "TEXT_INVALID",
    sender: "SENDER_INVALID",
    callbackUrl: "CALLBACK_URL_INVALID",
    reference: "REFERENCE_INVALID",
    "metadata.a": "METADATA_INVALID",
    encoding: "ENCODING_INVALID",
    maxCredits: "MAX_CREDITS_INVALID",
    sendAt: "SEND_AT_INVALID",
    validitySeconds: "VALIDITY_SECONDS_INVALID",
    extra: "FIELD_UNKNOWN",
  });
});

test("fields a client may not set are unknown fields: status, credits, ids, times", async () => {
  for (const name of [
    "status",
    "credits",
    "accountId",
    "messageId",
    "createdAt",
    "error",
    "__proto__",
  ]) {
    const answer = await api.send(`{"recipient":"${recipient}","text":"x","${name}":null}`);
    assert.deepEqual(wrongFields(answer), { [name]: "FIELD_UNKNOWN" });
  }
});

test("a number without a route is refused, and changed routes and prices apply from the next request on every node", async () => {
  await using one = await startApi({ credits: 100 });
  await using two = await startApi({ db: one.db });
  const british = { recipient: "447911123456", text: "x" };
  const credits = async () => (await two.send(british, { key: one.key })).json().credits;
  assert.equal(await credits(), 1);

  await one.db.query(
    sql`insert into prices (prefix, credits) values ('', 2), ('44', 3), ('447', 7)`,
  );
  assert.equal(await credits(), 7, "the longest prefix counts");
  await one.db.query(sql`update routes set prefix = '49' where prefix = ''`);
  const refused = await two.send(british, { key: one.key });
  assert.equal(refused.statusCode, 422);
  assert.partialDeepStrictEqual(refused.json().error, {
    code: "RECIPIENT_NOT_SERVED",
    details: [{ field: "recipient", code: "RECIPIENT_NOT_SERVED" }],
  });
  assert.equal((await two.send(good, { key: one.key })).statusCode, 202);
  assert.equal((await two.send({ ...british, maxCredits: 1 }, { key: one.key })).statusCode, 422);
  await one.db.query(sql`update routes set prefix = '' where prefix = '49'`);
  assert.equal(await credits(), 7, "a refusal by old routes is never given");
  await one.db.query(sql`delete from prices`);
  const cheap = await two.send({ ...british, maxCredits: 1 }, { key: one.key });
  assert.equal(cheap.statusCode, 202, "nor one by old prices");
});

test("a request with a field of a wrong type never refuses a recipient by outdated routes", async () => {
  await using one = await startApi({ credits: 100 });
  await using two = await startApi({ db: one.db });
  const british = { recipient: "447911123456", text: "x", extra: 1 };
  await one.db.query(sql`update routes set prefix = '49' where prefix = ''`);
  const before = wrongFields(await two.send(british, { key: one.key }));
  assert.deepEqual(before, { extra: "FIELD_UNKNOWN", recipient: "RECIPIENT_NOT_SERVED" });

  await one.db.query(sql`update routes set prefix = '' where prefix = '49'`);
  const after = wrongFields(await two.send(british, { key: one.key }));

  assert.deepEqual(after, { extra: "FIELD_UNKNOWN" });
});
