import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "#platform";
import { startApi } from "../support/api.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());

test("a message is accepted, charged and queued, and the answer shows it", async () => {
  const account = await api.createAccount(10);

  const answer = await api.send({ recipient: "+4915112345678", text: "Hello" }, account);

  assert.equal(answer.statusCode, 202);
  const message = answer.json();
  assert.equal(answer.headers["location"], `/v1/messages/${message.messageId}`);
  assert.partialDeepStrictEqual(message, {
    recipient: "4915112345678",
    status: "QUEUED",
    encoding: "gsm7",
    segments: 1,
    credits: 1,
    creditsRefunded: 0,
    sender: null,
    error: null,
  });
  assert.deepEqual(
    await api.db.query(sql`
      select kind, amount, balance_after from ledger where account_id = ${account.accountId} order by seq`),
    [
      { kind: "topup", amount: 10, balance_after: 10 },
      { kind: "charge", amount: -1, balance_after: 9 },
    ],
  );
  const queue = await api.db.query(sql`
    select message_id from send_queue where account_id = ${account.accountId}`);
  assert.deepEqual(queue, [{ message_id: message.messageId }]);
});

test("a message the account cannot pay for is refused and leaves no trace", async () => {
  const account = await api.createAccount(1);

  const answer = await api.send({ recipient: "4915112345678", text: "a".repeat(161) }, account);

  assert.equal(answer.statusCode, 402);
  assert.partialDeepStrictEqual(answer.json().error, {
    code: "CREDITS_INSUFFICIENT",
    details: [{ field: null, required: 2, available: 1 }],
  });
  const stored = await api.db.query(sql`
    select message_id::text as what from messages where account_id = ${account.accountId}
     union all
    select kind from ledger where account_id = ${account.accountId}`);
  assert.deepEqual(stored, [{ what: "topup" }]);
});

test("a revoked key sends nothing more, even if this node has it cached", async () => {
  const { key, keyId } = await api.createKey();
  await api.send({ recipient: "4915112345678", text: "Hello" }, { key });

  await api.revoke(keyId);
  const answer = await api.send({ recipient: "4915112345678", text: "Hello again" }, { key });

  assert.equal(answer.statusCode, 401);
  assert.equal(answer.json().error.code, "API_KEY_REVOKED");
});
