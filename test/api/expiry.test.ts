import assert from "node:assert/strict";
import { after, test } from "node:test";
import { lockAccounts } from "#accounts";
import { expireMessages } from "#messages";
import { sql } from "#platform";
import { startApi, type TestKey } from "../support/api.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { manualClock } from "../support/manual-clock.ts";
import { onePass } from "../support/one-pass.ts";
import { assertSound } from "../support/sound.ts";
import { unheard } from "../support/messages.ts";

/** The service's own clock stands still, so that only the passes below expire messages. */
const api = await startApi({ credits: 100, clock: manualClock(new Date()) });
after(() => api[Symbol.asyncDispose]());

const message = { recipient: "4915112345678", text: "Hello" };

/** Runs the loop once at this moment. */
function expireAt(moment: Date): Promise<number> {
  const clock = manualClock(moment);
  return onePass(expireMessages({ db: api.db, clock, listener: unheard }));
}

async function send(
  fields: object = {},
  by?: TestKey,
): Promise<{ messageId: string; expiresAt: string }> {
  const answer = await api.send({ ...message, ...fields }, by);
  assert.equal(answer.statusCode, 202, answer.body);
  return answer.json();
}

const read = async (messageId: string) => (await api.get(`/v1/messages/${messageId}`)).json();
const balance = async () => (await api.get("/v1/credits")).json().balance as number;

test("a message not submitted within its validity is FAILED with EXPIRED and refunded, to the millisecond", async () => {
  const { messageId, expiresAt } = await send({ validitySeconds: 60 });
  const before = await balance();

  await expireAt(new Date(Date.parse(expiresAt) - 1));
  assert.equal((await read(messageId)).status, "QUEUED");
  assert.equal(await expireAt(new Date(expiresAt)), 1);

  assert.partialDeepStrictEqual(await read(messageId), {
    status: "FAILED",
    error: { code: "EXPIRED", carrierCode: null },
    credits: 1,
    creditsRefunded: 1,
    updatedAt: expiresAt,
  });
  assert.equal(await balance(), before + 1);
  assert.equal(await expireAt(new Date(expiresAt)), 0, "once");
  await assertSound(api.db);
});

test("a message without a route when its validity ends is FAILED with NO_ROUTE, and not before", async (t) => {
  const { messageId, expiresAt } = await send({ validitySeconds: 60 });
  const routes = await api.db.query<{ prefix: string; carrier_ids: string[] }>(sql`
    delete from routes returning prefix, carrier_ids`);
  t.after(async () => {
    for (const { prefix, carrier_ids } of routes)
      await api.db.query(
        sql`insert into routes (prefix, carrier_ids) values (${prefix}, ${carrier_ids}::uuid[])`,
      );
  });

  await expireAt(new Date(Date.parse(expiresAt) - 1));
  assert.equal((await read(messageId)).status, "QUEUED");
  await expireAt(new Date(expiresAt));

  assert.partialDeepStrictEqual(await read(messageId), {
    status: "FAILED",
    error: { code: "NO_ROUTE", carrierCode: null },
    creditsRefunded: 1,
  });
});

test("the validity of a scheduled message starts at its sendAt", async () => {
  const sendAt = new Date(Date.now() + 3_600_000);
  const { messageId } = await send({ sendAt: sendAt.toISOString(), validitySeconds: 60 });

  await expireAt(new Date(sendAt.getTime() + 59_999));
  assert.equal((await read(messageId)).status, "QUEUED");
  await expireAt(new Date(sendAt.getTime() + 60_000));

  assert.equal((await read(messageId)).status, "FAILED");
});

test("a message that a sender has leased does not expire", async () => {
  const { messageId, expiresAt } = await send({ validitySeconds: 60 });
  await api.db.query(sql`
    update send_queue set leased_by = gen_random_uuid(), lease_epoch = 1 where message_id = ${messageId}`);

  await expireAt(new Date(Date.parse(expiresAt) + 1_000));

  assert.equal((await read(messageId)).status, "QUEUED");
});

test("a message that a sender leases while it is being expired does not expire", async () => {
  const { messageId, expiresAt } = await send({ validitySeconds: 60 });

  const { ending } = await held(api.db, async (tx) => {
    await lockAccounts(tx, [api.accountId]);
    const begun = expireAt(new Date(Date.parse(expiresAt) + 1_000));
    await somebodyWaits(api.db);
    await api.db.query(sql`
      update send_queue set leased_by = gen_random_uuid(), lease_epoch = 1 where message_id = ${messageId}`);
    return { ending: begun };
  });
  await ending;

  assert.equal((await read(messageId)).status, "QUEUED");
});

test("two nodes that expire the same messages refund them once", async () => {
  const sent = await Promise.all(Array.from({ length: 20 }, () => send({ validitySeconds: 61 })));
  const before = await balance();
  const late = new Date(Date.parse(sent[0]?.expiresAt ?? "") + 60_000);

  const ended = await Promise.all([expireAt(late), expireAt(late), expireAt(late)]);

  assert.equal(
    ended.reduce((sum, count) => sum + count, 0),
    20,
  );
  assert.equal(await balance(), before + 20);
});

test("refunds booked together keep each account's chain of balances intact", async () => {
  const texts = [1, 161, 307].map((length) => "a".repeat(length));
  const other = await api.createAccount(10);
  const sent = await Promise.all(
    texts.flatMap((text) =>
      [undefined, other].map((by) => send({ text, validitySeconds: 60 }, by)),
    ),
  );
  const late = new Date(Date.parse(sent[0]?.expiresAt ?? "") + 60_000);

  assert.equal(await expireAt(late), 6);

  await assertSound(api.db, ["I1", "I2"]);
});
