import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import type { HistoryEntry } from "#contract";
import { eventId } from "#messages";
import { type Queryable, sql, systemClock } from "#platform";
import {
  browseDeliveries,
  findDelivery,
  NO_DELIVERY_FILTER,
  replayDelivery,
  webhookHistory,
} from "#webhooks";
import { verifyWebhook } from "../../sdk/webhook.ts";
import { eventually } from "../support/eventually.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { startSending } from "../support/sending.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

test("every change of status reaches the receiver once, in order, with the documented headers", async () => {
  await using receiver = await startReceiver();
  await using world = await startSending();

  const { messageId } = await world.send({
    recipient: "4915112345678",
    text: "Hello",
    callbackUrl: receiver.url,
  });
  const [sent, delivered] = await receiver.arrived(2);
  await world.reached(messageId, "DELIVERED");

  const message = await world.read(messageId);
  assert.equal(
    sent?.body.toString(),
    `{"event":"message.sent","messageId":"${messageId}","recipient":"4915112345678","status":"SENT","sentAt":"${message.sentAt}"}`,
  );
  assert.equal(
    delivered?.body.toString(),
    `{"event":"message.delivered","messageId":"${messageId}","recipient":"4915112345678","status":"DELIVERED","deliveredAt":"${message.deliveredAt}"}`,
  );
  assert.partialDeepStrictEqual(delivered.headers, {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "x-sms-event": "message.delivered",
    "x-sms-attempt": "1",
    "x-sms-sequence": "3",
    "webhook-id": eventId(messageId, 3),
  });
  assert.match(delivered.headers["user-agent"] ?? "", /^Posthorn\/\d/);
  assert.equal(receiver.received.length, 2);
});

test("a message without a callback address creates no webhook", async () => {
  await using receiver = await startReceiver();
  await using world = await startSending();

  const quiet = await world.send({ recipient: "4915112345678", text: "Hello" });
  await world.reached(quiet.messageId, "DELIVERED");
  await world.send({ recipient: "4915112345678", text: "Hi", callbackUrl: receiver.url });
  const received = await receiver.arrived(2);

  assert.ok(received.every(({ body }) => !body.toString().includes(quiet.messageId)));
});

test("the published library and the SDK verify a real delivery, and reject it with any octet changed", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  world.worker();
  await world.sent(1, { url: receiver.url });

  const [received] = (await receiver.arrived(1)) as [Received];
  const [secret] = (await world.signingSecrets()) as [string];
  const changed = Buffer.from(received.body);
  changed[20] = (changed[20] ?? 0) ^ 1;

  const library = new Webhook(secret);
  assert.ok(library.verify(received.body, received.headers));
  assert.throws(() => library.verify(changed, received.headers));
  assert.ok(verifyWebhook(received.body, received.headers, secret));
  assert.throws(() => verifyWebhook(changed, received.headers, secret));
});

test("attempts and replays carry the same octets and id, a rising attempt number, and a new signature", async () => {
  await using receiver = await startReceiver(({ headers }) =>
    headers["x-sms-attempt"] === "1" ? 500 : 200,
  );
  await using world = await webhookWorld();
  world.worker();
  const [messageId] = (await world.sent(1, { url: receiver.url })) as [string];
  await receiver.arrived(1);
  await world.hurry(1);
  await receiver.arrived(2);
  await world.left(0);

  await replayDelivery(world.db, {
    deliveryId: eventId(messageId, 2),
    actor: "test",
    now: systemClock.now(),
  });
  const received = await receiver.arrived(3);
  await world.left(0);

  assert.deepEqual(new Set(received.map(({ body }) => body.toString("hex"))).size, 1);
  assert.deepEqual(
    received.map(({ headers }) => [headers["webhook-id"], headers["x-sms-attempt"]]),
    [1, 2, 3].map((attempt) => [eventId(messageId, 2), String(attempt)]),
  );
  const [secret] = (await world.signingSecrets()) as [string];
  for (const { body, headers } of received) assert.ok(new Webhook(secret).verify(body, headers));
});

test("the history of a message shows its webhooks and their attempts", async () => {
  await using receiver = await startReceiver(({ headers }) =>
    headers["x-sms-sequence"] === "2" ? 200 : 410,
  );
  await using world = await startSending();
  const { messageId } = await world.send({
    recipient: "4915112345678",
    text: "Hello",
    callbackUrl: receiver.url,
  });

  await receiver.arrived(2);
  const [, sent, delivered] = await webhooksOf(world, messageId, ["delivered", "gone"]);

  assert.equal(sent?.webhook?.eventId, eventId(messageId, 2));
  const [attempt] = sent.webhook.attempts;
  assert.partialDeepStrictEqual(attempt, { attempt: 1, httpStatus: 200, error: null });
  assert.partialDeepStrictEqual(delivered?.webhook, {
    state: "gone",
    attempts: [{ attempt: 1, httpStatus: 410, error: "gone" }],
  });
});

test("a delivered webhook stays delivered in the history during a replay and if that fails", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const [messageId] = (await world.sent(1, { url: "http://127.0.0.1:9/" })) as [string];
  const stateAfter = async (attempt: number, ended: "delivered" | "exhausted") => {
    await db.query(sql`
      with gone as (delete from webhook_deliveries)
      insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms, ended)
      values (${accountId}, ${messageId}, 2, ${attempt}, clock_timestamp(), 0, 1, ${ended})`);
    return state();
  };
  const state = async () =>
    (await webhookHistory(db, { accountId, messageId })).get(2)?.state ?? null;

  const delivered = await stateAfter(1, "delivered");
  const now = systemClock.now();
  await replayDelivery(db, { deliveryId: eventId(messageId, 2), actor: "test", now });
  await world.left(1);
  const replayed = await state();
  const failed = await stateAfter(2, "exhausted");

  assert.deepEqual([delivered, replayed, failed], ["delivered", "delivered", "delivered"]);
});

test("a webhook that ends between two reads is found, whichever comes first", async () => {
  await using world = await webhookWorld();
  const { accountId } = world;
  const [first, second] = (await world.sent(2, { url: "http://127.0.0.1:9/" })) as [string, string];

  const history = await webhookHistory(endedBetween(world, first), { accountId, messageId: first });
  const deliveryId = eventId(second, 2);
  const found = await findDelivery(endedBetween(world, second), { accountId, deliveryId });

  assert.equal(history.has(2), true);
  assert.equal(found?.deliveryId, deliveryId);
});

/** A database in which the delivery ends right after attempts are read, before any other read. */
function endedBetween({ db, accountId }: WebhookWorld, messageId: string): Queryable {
  let ending: Promise<unknown> | undefined;
  const end = () =>
    db.query(sql`
      with ended as (delete from webhook_deliveries where message_id = ${messageId})
      insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms, ended)
      values (${accountId}, ${messageId}, 2, 1, clock_timestamp(), 0, 1, 'delivered')`);
  return {
    async query(statement) {
      if (statement.text.includes("webhook_attempts")) {
        const rows = db.query(statement);
        ending ??= rows.then(end);
        return (await rows) as never;
      }
      // By then, a caller that queries everything at once has also asked for the attempts.
      await new Promise(setImmediate);
      await ending;
      return (await db.query(statement)) as never;
    },
  };
}

test("deliveries before a time are those whose status changed before it, even if the message's clock was ahead", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  await world.sent(1, { url: "http://127.0.0.1:1/hook" });
  await db.transaction(async (tx) => {
    // A trigger forbids changing events.
    await tx.query(sql`set local session_replication_role = replica`);
    await tx.query(sql`update events set at = date_trunc('second', at) - interval '30 s'`);
  });
  const before = async (createdBefore: Date | null) => {
    const filter = { ...NO_DELIVERY_FILTER, createdBefore };
    return (await browseDeliveries(db, { accountId, filter, position: null, limit: 10 })).rows;
  };
  const [delivery] = await before(null);
  const changedAt = delivery?.createdAt ?? assert.fail("there is none");

  assert.equal((await before(new Date(changedAt.getTime() + 1))).length, 1);
  assert.equal((await before(changedAt)).length, 0);
});

type StatusEntry = Extract<HistoryEntry, { type: "status" }>;

/** The statuses of a message, once the webhooks after QUEUED have these states. */
function webhooksOf(
  world: { history(messageId: string): Promise<HistoryEntry[]> },
  messageId: string,
  states: string[],
): Promise<StatusEntry[]> {
  return eventually(`webhooks are ${states.join(" and ")}`, async () => {
    const history = await world.history(messageId);
    const entries = history.filter((entry): entry is StatusEntry => entry.type === "status");
    const seen = entries.slice(1).map(({ webhook }) => webhook?.state);
    return JSON.stringify(seen) === JSON.stringify(states) && entries;
  });
}
