import assert from "node:assert/strict";
import { test } from "node:test";
import { moveMessages } from "#messages";
import { openDatabase, silentLog, sql, systemClock } from "#platform";
import { type FollowedEvent, followEvents, forwarder } from "#webhooks";
import { verifyWebhook } from "../../sdk/webhook.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

/** Follows the account of the world until it is disposed of. */
async function follow({ db, secrets, accountId }: WebhookWorld) {
  const seen: FollowedEvent[] = [];
  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  const deps = { db, clock: systemClock, secrets, version: "test" };
  async function read(): Promise<void> {
    const wish = { accountId, signal: stopping.signal, onReady: ready.resolve };
    for await (const event of followEvents(deps, wish)) seen.push(event);
  }
  const ended = read();
  await Promise.race([ready.promise, ended]);
  return {
    seen,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  };
}

test("a follower sees every change of status, with and without a callback address, in order and signed", async () => {
  await using world = await webhookWorld();
  const [secret] = (await world.signingSecrets()) as [string];
  await using follower = await follow(world);
  const quiet = await world.message({ url: null });
  const told = await world.message({ url: "http://127.0.0.1:1/hook" });

  for (const messageId of [quiet, told]) {
    await world.move(messageId, "SENT");
    await world.move(messageId, "UNDELIVERED");
  }
  await until("all are seen", () => follower.seen.length >= 4);

  for (const messageId of [quiet, told]) {
    const own = follower.seen.filter((event) => event.messageId === messageId);
    assert.deepEqual(
      own.map(({ event, sequence }) => [event, sequence]),
      [
        ["message.sent", 2],
        ["message.undelivered", 3],
      ],
    );
    for (const { body, headers } of own) assert.ok(verifyWebhook(body, headers, secret));
  }
  const events = await world.db.query<{ body: Buffer }>(sql`
    select body from events where message_id = ${told} order by sequence`);
  assert.deepEqual(
    follower.seen.filter(({ messageId }) => messageId === told).map(({ body }) => body),
    events.map(({ body }) => body),
  );
});

test("a transaction that commits after a later one is not passed over", async () => {
  await using world = await webhookWorld();
  const [slow, fast] = [await world.message({ url: null }), await world.message({ url: null })];
  await using follower = await follow(world);
  const other = openDatabase({ url: world.db.url, log: silentLog, maxConnections: 1 });
  const mayCommit = Promise.withResolvers<void>();
  const hasWritten = Promise.withResolvers<void>();

  const late = other.transaction(async (tx) => {
    const move = { accountId: world.accountId, recipient: "4915112345678", callbackUrl: null };
    const at = systemClock.now();
    await moveMessages(tx, [{ ...move, messageId: slow, from: "QUEUED", to: "SENT", at }]);
    hasWritten.resolve();
    await mayCommit.promise;
  });
  await hasWritten.promise;
  await world.move(fast, "SENT");
  await until("the later one is seen", () => follower.seen.length === 1);
  mayCommit.resolve();
  await late;
  await until("the earlier one is seen too", () => follower.seen.length === 2);
  await other.close();

  assert.deepEqual(
    follower.seen.map(({ messageId }) => messageId),
    [fast, slow],
  );
});

test("nothing is written for an account that nobody follows", async () => {
  await using world = await webhookWorld();
  const other = await world.newAccount();
  await using follower = await follow(world);

  await world.sent(3, { url: "http://127.0.0.1:1/hook", accountId: other });
  await world.sent(1, { url: "http://127.0.0.1:1/hook" });
  await until("the followed one is seen", () => follower.seen.length === 1);

  const rows = await world.db.query(sql`select distinct account_id from followed_events`);
  assert.deepEqual(rows, [{ account_id: world.accountId }]);
});

test("a followed event is forwarded with the same octets and headers", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await using follower = await follow(world);
  const forwarding = forwarder({ clock: systemClock, url: receiver.url });
  assert.ok(typeof forwarding !== "string");
  await world.move(await world.message({ url: null }), "SENT");
  await until("it is seen", () => follower.seen.length === 1);
  const [event] = follower.seen as [FollowedEvent];

  const forwarded = await forwarding.forward(event);
  await forwarding.close();

  assert.partialDeepStrictEqual(forwarded, { httpStatus: 200, error: null });
  const [received] = await receiver.arrived(1);
  assert.deepEqual(received?.body, event.body);
  assert.equal(received.headers["x-sms-signature"], event.headers["X-SMS-Signature"]);
});
