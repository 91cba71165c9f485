import assert from "node:assert/strict";
import { test } from "node:test";
import { sweepIdempotency } from "#messages";
import { sql } from "#platform";
import { manualClock } from "../support/manual-clock.ts";
import { problemOf } from "../support/answers.ts";
import { startApi, type TestKey, twoNodes } from "../support/api.ts";
import { onePass } from "../support/one-pass.ts";

const settings = { RATE_LIMIT_SENDS_BURST: "100000", RATE_LIMIT_READS_BURST: "100000" };
const [one, two] = await twoNodes(settings);

const message = { recipient: "4915112345678", text: "Hello" };
type Answer = Awaited<ReturnType<typeof one.send>>;

function send(body: unknown, account: TestKey, idempotencyKey: string, api = one): Promise<Answer> {
  const headers = { "idempotency-key": idempotencyKey };
  return api.send(body, { key: account.key, headers });
}

function sendBatch(messages: unknown[], account: TestKey, key: string, api = one): Promise<Answer> {
  const headers = { "idempotency-key": key };
  return api.post("/v1/messages/batch", { messages }, { key: account.key, headers });
}

async function countOf({ accountId }: TestKey): Promise<number> {
  const rows = await one.db.query(sql`select from messages where account_id = ${accountId}`);
  return rows.length;
}

const balanceOf = async (account: TestKey) =>
  (await one.get("/v1/credits", account)).json().balance;
const isReplayed = (answer: Answer) => answer.headers["idempotency-replayed"] === "true";

test("the same key and body again gets the first answer, byte for byte, and is charged once", async () => {
  const account = await one.createAccount(10);
  const first = await send(message, account, "k");

  const again = await send(message, account, "k", two);

  assert.equal(first.statusCode, 202);
  assert.equal(first.headers["idempotency-replayed"], undefined);
  assert.equal(again.statusCode, 202);
  assert.ok(isReplayed(again));
  assert.equal(again.body, first.body);
  assert.equal(again.headers["location"], first.headers["location"]);
  assert.equal(await countOf(account), 1);
  assert.equal(await balanceOf(account), 9);
});

test("a replay shows the message as it was accepted, whatever happened to it since", async () => {
  const account = await one.createAccount(10);
  const first = await send(message, account, "k");
  await one.post(`/v1/messages/${first.json().messageId}/cancel`, undefined, account);

  const again = await send(message, account, "k");

  assert.equal(again.body, first.body);
  assert.equal(await balanceOf(account), 10);
});

test("field order, spaces, escapes and nulls do not make a different body", async () => {
  const account = await one.createAccount(10);
  const first = await send({ ...message, metadata: { a: "1", b: "ü" } }, account, "k");

  const again = await send(
    `{ "metadata":{"b":"\\u00fc", "a":"1"},\n "sender":null, "text":"Hello","recipient":"4915112345678"}`,
    account,
    "k",
  );

  assert.ok(isReplayed(again), again.body);
  assert.equal(again.json().messageId, first.json().messageId);
});

const later = new Date(Date.now() + 3_600_000).toISOString();
for (const [what, ...forms] of [
  ["a plus before the recipient", {}, { recipient: "+4915112345678" }],
  ["a plus before the number of a sender", { sender: "447700900123" }, { sender: "+447700900123" }],
  ["an encoding that is the default", {}, { encoding: "auto" }],
  ["a validity that is the default", {}, { validitySeconds: 86_400 }],
  ["a time in another zone", { sendAt: later }, { sendAt: later.replace("Z", "+00:00") }],
] as const) {
  test(`${what} does not make a different body, in either order, alone or in a batch`, async () => {
    const account = await one.createAccount(10);
    const bodies = forms.map((form) => ({ ...message, ...form }));
    for (const [name, [first, second]] of [
      ["1", bodies],
      ["2", bodies.toReversed()],
    ] as const) {
      const sent = await send(first, account, name);
      const batch = await sendBatch([first, message], account, `batch ${name}`);
      assert.deepEqual([sent.statusCode, batch.statusCode], [202, 202], sent.body);
      assert.equal((await send(second, account, name)).body, sent.body);
      const again = await sendBatch([second, message], account, `batch ${name}`);
      assert.equal(again.body, batch.body);
    }
    assert.equal(await countOf(account), 6);
  });
}

test("a body that would make a different message is a different body, however similar", async () => {
  const account = await one.createAccount(10);
  await send({ ...message, sender: "447700900" }, account, "k");
  const others = [
    { encoding: "gsm7" },
    { validitySeconds: 86_399 },
    { text: "Hello " },
    { metadata: {} },
    { sendAt: later },
    { maxCredits: 1 },
    { callbackUrl: "https://example.com" },
    { sender: "447700901" },
  ];
  for (const other of others) {
    const body = { ...message, sender: "447700900", ...other };
    problemOf(await send(body, account, "k"), "IDEMPOTENCY_KEY_REUSED");
  }
  assert.equal(await countOf(account), 1);
});

test("the same key with another body or operation is refused, and stores nothing", async () => {
  const account = await one.createAccount(10);
  await send(message, account, "k");

  problemOf(await send({ ...message, text: "Other" }, account, "k"), "IDEMPOTENCY_KEY_REUSED");
  problemOf(await send({ ...message, reference: "r" }, account, "k"), "IDEMPOTENCY_KEY_REUSED");
  problemOf(await sendBatch([message], account, "k"), "IDEMPOTENCY_KEY_REUSED");

  assert.equal(await countOf(account), 1);
  assert.equal(await balanceOf(account), 9);
});

test("a key belongs to its account; any API key of the account may replay it", async () => {
  const [account, stranger] = [await one.createAccount(10), await one.createAccount(10)];
  const first = await send(message, account, "k");
  const colleague = await one.createKey({ accountId: account.accountId });

  const [theirs, replayed] = [
    await send(message, stranger, "k"),
    await send(message, colleague, "k"),
  ];

  assert.notEqual(theirs.json().messageId, first.json().messageId);
  assert.ok(!isReplayed(theirs));
  assert.equal(replayed.body, first.body);
});

test("a key is 1 to 255 printable ASCII characters; an empty one is refused", async () => {
  const account = await one.createAccount(10);
  for (const key of ["", "x".repeat(256), "ünicode", "tab\there"]) {
    problemOf(await send(message, account, key), "IDEMPOTENCY_KEY_INVALID");
  }
  assert.equal(await countOf(account), 0);
  for (const key of ["a", "x".repeat(255), "!~ {}"]) {
    assert.equal((await send(message, account, key)).statusCode, 202);
  }
});

test("a key given twice is refused, even if both are equal; one key may hold a comma", async () => {
  const account = await one.createAccount(10);
  const given = (keys: string | string[], path: string, payload: object) =>
    one.inject({
      method: "POST",
      url: path,
      headers: { "x-api-key": account.key, "idempotency-key": keys },
      payload,
    });

  for (const keys of [
    ["a", "b"],
    ["a", "a"],
    ["a", ""],
  ]) {
    problemOf(await given(keys, "/v1/messages", message), "IDEMPOTENCY_KEY_INVALID");
    const batch = await given(keys, "/v1/messages/batch", { messages: [message] });
    problemOf(batch, "IDEMPOTENCY_KEY_INVALID");
  }
  assert.equal(await countOf(account), 0);
  assert.equal((await given("a, b", "/v1/messages", message)).statusCode, 202);
  const preview = await given(["a", "b"], "/v1/messages/preview", message);
  assert.equal(preview.statusCode, 200, "a preview takes no key");
});

test("a batch is replayed whole and in its order", async () => {
  const account = await one.createAccount(10);
  const messages = ["a", "b", "c"].map((text) => ({ ...message, text }));
  const first = await sendBatch(messages, account, "k");

  const again = await sendBatch(messages, account, "k", two);

  assert.ok(isReplayed(again));
  assert.equal(again.body, first.body);
  assert.equal(await balanceOf(account), 7);
  problemOf(await sendBatch(messages.toReversed(), account, "k"), "IDEMPOTENCY_KEY_REUSED");
});

test("one key used a hundred times at once on two nodes creates one message, and all get it", async () => {
  const account = await one.createAccount(10);

  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => send(message, account, "k", n % 2 === 0 ? one : two)),
  );

  assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([202]));
  assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
  assert.equal(answers.filter(isReplayed).length, 99);
  assert.equal(await countOf(account), 1);
  assert.equal(await balanceOf(account), 9);
});

test("one key used a hundred times at once with two bodies: one body wins, the other is refused", async () => {
  const account = await one.createAccount(100);
  const bodies = [message, { ...message, text: "Other" }];

  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => send(bodies[n % 2], account, "k", n % 4 < 2 ? one : two)),
  );

  const accepted = answers.filter(({ statusCode }) => statusCode === 202);
  assert.equal(new Set(accepted.map(({ body }) => body)).size, 1);
  assert.equal(accepted.length, 50);
  for (const answer of answers.filter(({ statusCode }) => statusCode !== 202)) {
    problemOf(answer, "IDEMPOTENCY_KEY_REUSED");
  }
  assert.equal(await countOf(account), 1);
});

test("concurrent batches with one key on two nodes are one batch", async () => {
  const account = await one.createAccount(100);
  const messages = Array.from({ length: 10 }, () => message);

  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      sendBatch(messages, account, "k", n % 2 === 0 ? one : two),
    ),
  );

  assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
  assert.equal(await countOf(account), 10);
  assert.equal(await balanceOf(account), 90);
});

test("a refusal is not remembered: after a top-up the same key works", async () => {
  const account = await one.createAccount(0);
  problemOf(await send(message, account, "k"), "CREDITS_INSUFFICIENT");
  await one.db.query(sql`
    select * from book_credits(${account.accountId}, 'topup', 5, 'test', 'n', null, now())`);

  const answer = await send(message, account, "k");

  assert.equal(answer.statusCode, 202);
  assert.ok(!isReplayed(answer));
  problemOf(await send({ ...message, recipient: "1" }, account, "bad"), "VALIDATION_FAILED");
  assert.equal((await send(message, account, "bad")).statusCode, 202);
});

test("two concurrent sends with one key and no credits are both refused", async () => {
  const account = await one.createAccount(0);

  const answers = await Promise.all(Array.from({ length: 6 }, () => send(message, account, "k")));

  for (const answer of answers) problemOf(answer, "CREDITS_INSUFFICIENT");
});

test("a replay needs neither credits nor rate allowance", async () => {
  await using slow = await startApi({
    db: one.db,
    credits: 1,
    settings: { RATE_LIMIT_SENDS: "1", RATE_LIMIT_SENDS_BURST: "1" },
  });
  const headers = { "idempotency-key": "k" };
  const first = await slow.send(message, { headers });

  for (let n = 0; n < 3; n += 1) {
    assert.equal((await slow.send(message, { headers })).body, first.body);
  }
});

test("an accepted request is replayed even if it would be refused by now", async () => {
  const clock = manualClock(new Date());
  await using api = await startApi({ credits: 10, clock });
  const headers = { "idempotency-key": "later" };
  const later = { ...message, sendAt: new Date(clock.now().getTime() + 60_000).toISOString() };
  const first = await api.send(later, { headers });
  const cheap = await api.send(
    { ...message, maxCredits: 1 },
    { headers: { "idempotency-key": "cheap" } },
  );

  clock.advance(120_000);
  await api.db.query(sql`insert into prices (prefix, credits) values ('', 5)`);
  await api.db.query(sql`delete from routes`);

  assert.equal((await api.send(later, { headers })).body, first.body);
  const again = await api.send(
    { ...message, maxCredits: 1 },
    { headers: { "idempotency-key": "cheap" } },
  );
  assert.equal(again.body, cheap.body);
  assert.equal(again.headers["idempotency-replayed"], "true");
  problemOf(await api.send(later, { headers: { "idempotency-key": "new" } }), "VALIDATION_FAILED");
});

test("a revoked API key replays nothing, neither a valid request nor an outdated one", async () => {
  const clock = manualClock(new Date());
  await using api = await startApi({ db: one.db, credits: 10, clock });
  const { key, keyId } = await api.createKey();
  const headers = { "idempotency-key": "k" };
  const later = { ...message, sendAt: new Date(clock.now().getTime() + 60_000).toISOString() };
  assert.equal((await api.send(later, { key, headers })).statusCode, 202);
  await api.revoke(keyId);

  problemOf(await api.send(later, { key, headers }), "API_KEY_REVOKED");
  clock.advance(120_000);
  problemOf(await api.send(later, { key, headers }), "API_KEY_REVOKED");
});

test("keys are kept for 24 hours, then deleted", async () => {
  const account = await one.createAccount(10);
  const first = await send(message, account, "old");
  const age = (interval: string) =>
    one.db.query(sql`
      update idempotency set created_at = clock_timestamp() - ${interval}::interval
       where account_id = ${account.accountId}`);
  const sweep = () => onePass(sweepIdempotency(one.db));

  await age("23 hours 59 minutes");
  await sweep();
  assert.equal((await send(message, account, "old")).body, first.body);
  await age("24 hours 1 minute");
  await sweep();

  const anew = await send(message, account, "old");
  assert.ok(!isReplayed(anew));
  assert.notEqual(anew.json().messageId, first.json().messageId);
});
