import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "#platform";
import { startApi } from "../support/api.ts";

test("a message is accepted, charged and queued, and the answer shows it", async () => {
  await using api = await startApi({ credits: 10 });

  const answer = await api.send({ recipient: "+4915112345678", text: "Hello" });

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
    await api.db.query(sql`select kind, amount, balance_after from ledger order by seq`),
    [
      { kind: "topup", amount: 10, balance_after: 10 },
      { kind: "charge", amount: -1, balance_after: 9 },
    ],
  );
  const queue = await api.db.query(sql`select message_id from send_queue`);
  assert.deepEqual(queue, [{ message_id: message.messageId }]);
});

test("a message the account cannot pay for is refused and leaves no trace", async () => {
  await using api = await startApi({ credits: 1 });

  const answer = await api.send({ recipient: "4915112345678", text: "a".repeat(161) });

  assert.equal(answer.statusCode, 402);
  assert.partialDeepStrictEqual(answer.json().error, {
    code: "CREDITS_INSUFFICIENT",
    details: [{ field: null, required: 2, available: 1 }],
  });
  assert.deepEqual(await api.db.query(sql`select message_id from messages`), []);
  assert.deepEqual(await api.db.query(sql`select kind from ledger`), [{ kind: "topup" }]);
});

test("a key that was revoked sends nothing more, though this node has it cached", async () => {
  await using api = await startApi({ credits: 5 });
  const { key, keyId } = await api.createKey();
  await api.send({ recipient: "4915112345678", text: "Hello" }, { key });

  await api.revoke(keyId);
  const answer = await api.send({ recipient: "4915112345678", text: "Hello again" }, { key });

  assert.equal(answer.statusCode, 401);
  assert.equal(answer.json().error.code, "API_KEY_REVOKED");
});
