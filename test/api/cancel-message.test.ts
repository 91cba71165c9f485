import assert from "node:assert/strict";
import { after, test } from "node:test";
import { moveMessages } from "#messages";
import { sql } from "#platform";
import { cancelMessage } from "../../server/messages/cancel-message.ts";
import { problemOf } from "../support/answers.ts";
import { startApi, type TestKey } from "../support/api.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { unheard } from "../support/messages.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());

const body = { recipient: "4915112345678", text: "a".repeat(161) };

async function waiting(account: TestKey): Promise<string> {
  return (await api.send(body, account)).json().messageId as string;
}

const cancel = (id: string, account: TestKey) =>
  api.post(`/v1/messages/${id}/cancel`, undefined, account);
const balance = async (account: TestKey) => (await api.get("/v1/credits", account)).json().balance;

test("a waiting message is canceled: FAILED, refunded, off the queue, with an event", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  assert.equal(await balance(account), 3);

  const answer = await cancel(messageId, account);

  assert.equal(answer.statusCode, 200);
  assert.partialDeepStrictEqual(answer.json(), {
    messageId,
    status: "FAILED",
    credits: 2,
    creditsRefunded: 2,
    error: { code: "CANCELED", carrierCode: null },
    sentAt: null,
    deliveredAt: null,
  });
  assert.equal(await balance(account), 5);
  assert.deepEqual((await api.get(`/v1/messages/${messageId}`, account)).json(), answer.json());
  const queue = await api.db.query(sql`select from send_queue where message_id = ${messageId}`);
  assert.deepEqual(queue, []);
  const { data } = (await api.get(`/v1/messages/${messageId}/events`, account)).json();
  assert.partialDeepStrictEqual(data, [
    { sequence: 1, status: "QUEUED" },
    { sequence: 2, event: "message.failed", status: "FAILED", error: { code: "CANCELED" } },
  ]);
});

test("canceling again changes nothing and refunds nothing", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  const first = await cancel(messageId, account);

  const again = await Promise.all(Array.from({ length: 5 }, () => cancel(messageId, account)));

  for (const answer of again) {
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), first.json());
  }
  assert.equal(await balance(account), 5);
});

test("a canceled message is moved by nobody who still takes it for waiting", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  await cancel(messageId, account);

  const { accountId } = account;
  const step = { accountId, messageId, recipient: body.recipient, callbackUrl: null } as const;
  const sent = { ...step, from: "QUEUED", to: "SENT", at: new Date() } as const;
  const moved = await api.db.transaction((tx) => moveMessages(tx, [sent], unheard));

  const read = await api.get(`/v1/messages/${messageId}`, account);
  assert.deepEqual([moved.size, read.json().status], [0, "FAILED"]);
});

test("a message canceled ten times at once on two nodes is refunded once", async () => {
  await using other = await startApi({ db: api.db });
  const account = await api.createAccount(5);
  const messageId = await waiting(account);

  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      (n % 2 === 0 ? api : other).post(`/v1/messages/${messageId}/cancel`, undefined, account),
    ),
  );

  assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]));
  const entries = await api.db.query(sql`
    select kind, amount from ledger where account_id = ${account.accountId} order by seq`);
  assert.deepEqual(entries, [
    { kind: "topup", amount: 5 },
    { kind: "charge", amount: -2 },
    { kind: "refund", amount: 2 },
  ]);
});

test("a message that a sender has leased can no longer be canceled", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  await api.db.query(sql`
    update send_queue set leased_by = gen_random_uuid() where message_id = ${messageId}`);

  const { details } = problemOf(await cancel(messageId, account), "MESSAGE_NOT_CANCELABLE");

  const message =
    "The message is QUEUED, but a carrier has or may have part of it, or is just receiving it.";
  assert.deepEqual(details, [{ field: null, code: "MESSAGE_NOT_CANCELABLE", message }]);
  assert.equal(await balance(account), 3);
});

test("a message already submitted or final cannot be canceled, and the answer says which it is", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  const step = { accountId: account.accountId, messageId, recipient: body.recipient };
  const at = new Date();
  await api.db.query(sql`delete from send_queue where message_id = ${messageId}`);
  await api.db.transaction((tx) =>
    moveMessages(tx, [{ ...step, callbackUrl: null, from: "QUEUED", to: "SENT", at }], unheard),
  );
  const sent = problemOf(await cancel(messageId, account), "MESSAGE_NOT_CANCELABLE");
  await api.db.transaction((tx) =>
    moveMessages(tx, [{ ...step, callbackUrl: null, from: "SENT", to: "DELIVERED", at }], unheard),
  );

  const final = problemOf(await cancel(messageId, account), "MESSAGE_NOT_CANCELABLE");

  assert.match(sent.details[0]?.message ?? "", /^The message is SENT;/);
  assert.match(final.details[0]?.message ?? "", /^The message is DELIVERED;/);
  assert.equal(await balance(account), 3);
});

for (const [what, outcome, inDoubtAt] of [
  ["has", "accepted", null],
  ["may have", null, new Date()],
  ["may have, though it refused the same one later,", "refused_temporarily", new Date()],
] as const)
  test(`a message cannot be canceled if a carrier ${what} a segment, though the rest still waits`, async () => {
    const account = await api.createAccount(5);
    const messageId = await waiting(account);
    await submitted(account, { messageId, outcome, inDoubtAt });

    problemOf(await cancel(messageId, account), "MESSAGE_NOT_CANCELABLE");

    assert.equal(await balance(account), 3);
    const { status } = (await api.get(`/v1/messages/${messageId}`, account)).json();
    assert.equal(status, "QUEUED");
  });

test("no sender can take up a message from the moment a cancel finds it waiting", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);

  const { canceling, taken } = await held(api.db, async (tx) => {
    await tx.query(sql`
      select message_id from messages where message_id = ${messageId} for no key update`);
    const asked = cancel(messageId, account);
    await somebodyWaits(api.db);
    // The same lock as when messages are claimed.
    const free = await api.db.query(sql`
      select message_id from send_queue where message_id = ${messageId} for update skip locked`);
    return { canceling: asked, taken: free };
  });

  assert.deepEqual(taken, []);
  assert.equal((await canceling).json().status, "FAILED");
});

test("a message that a sender was just taking up when a cancel found it waiting is not canceled", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);

  const { canceling } = await held(api.db, async (tx) => {
    await tx.query(sql`
      update send_queue set leased_by = gen_random_uuid(), lease_epoch = lease_epoch + 1
       where message_id = ${messageId}`);
    const asked = cancel(messageId, account);
    await somebodyWaits(api.db);
    return { canceling: asked };
  });

  problemOf(await canceling, "MESSAGE_NOT_CANCELABLE");
  assert.equal(await balance(account), 3);
});

test("a message taken up and put back while a cancel reads its submissions is not canceled", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  const { accountId } = account;
  async function isBegun(): Promise<boolean> {
    await api.db.query(sql`
      update send_queue set lease_epoch = lease_epoch + 1 where message_id = ${messageId}`);
    return false;
  }

  const request = { accountId, keyId: null, messageId, now: new Date(), isBegun };
  const { outcome } = await cancelMessage(api.db, request, unheard);

  assert.equal(outcome, "not_cancelable");
  assert.equal(await balance(account), 3);
});

test("a message refused by every carrier so far can be canceled while it waits", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  await submitted(account, { messageId, outcome: "refused_temporarily", inDoubtAt: null });

  assert.equal((await cancel(messageId, account)).statusCode, 200);
  assert.equal(await balance(account), 5);
});

type Submitted = { messageId: string; outcome: string | null; inDoubtAt: Date | null };

/** Submits the first segment; the message waits again. */
async function submitted(
  { accountId }: TestKey,
  { messageId, outcome, inDoubtAt }: Submitted,
): Promise<void> {
  await api.db.query(sql`
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, in_doubt_at)
    select message_id, 1, 1, ${accountId}, carrier_id, clock_timestamp(), ${outcome}, ${inDoubtAt}
      from send_queue
     where message_id = ${messageId}`);
}

test("a scheduled message can be canceled until it is taken up", async () => {
  const account = await api.createAccount(5);
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  const { messageId } = (await api.send({ ...body, sendAt }, account)).json();

  assert.equal((await cancel(messageId, account)).json().status, "FAILED");
  assert.equal(await balance(account), 5);
});

test("a cancel is accepted with any content type if it has no body, and with an empty object as its body", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);

  const form = { "content-type": "application/x-www-form-urlencoded" };
  for (const { headers, payload } of [
    { headers: form },
    { headers: { ...form, "content-length": "0" } },
    { headers: { "content-type": "application/json" }, payload: "{}" },
  ]) {
    const answer = await api.inject({
      method: "POST",
      url: `/v1/messages/${messageId}/cancel`,
      headers: { "x-api-key": account.key, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });

    assert.equal(answer.statusCode, 200, answer.body);
  }
});

test("canceling needs the scope to send", async () => {
  const account = await api.createAccount(5);
  const messageId = await waiting(account);
  const reader = await api.createKey({ ...account, scopes: ["messages:read"] });

  problemOf(await cancel(messageId, reader), "API_KEY_SCOPE_DENIED");

  assert.equal(await balance(account), 3);
});
