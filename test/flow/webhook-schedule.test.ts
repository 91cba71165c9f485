import assert from "node:assert/strict";
import { test } from "node:test";
import { eventId } from "#messages";
import { type Database, sql, systemClock } from "#platform";
import { findDelivery, replayDelivery, webhookHistory } from "#webhooks";
import { verifyWebhook } from "../../sdk/webhook.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { webhookWorld } from "../support/webhook-world.ts";

const SECONDS = [5, 30, 300, 1_800, 7_200, 21_600];
const HOSTS = sql`array(select host_key from webhook_deliveries)`;

test("a delivery that always fails is tried 7 times on the schedule, then ends exhausted and stays listed", async () => {
  await using receiver = await startReceiver(() => 503);
  await using world = await webhookWorld();
  const [messageId] = (await world.sent(1, { url: receiver.url })) as [string];
  /** Stops before the next attempt, which on a busy machine may be due before the wait is read. */
  const attempt = async (nth: number) => {
    await using _worker = world.worker();
    await receiver.arrived(nth);
  };

  for (const [position, planned] of SECONDS.entries()) {
    await attempt(position + 1);
    // Recording takes time: the wait started with the attempt's end, and part of it is over.
    const [row] = await world.db.query<{ whole: number; left: number }>(sql`
      select extract(epoch from next_at - (select max(at) from webhook_attempts))::float8 as whole,
             extract(epoch from next_at - clock_timestamp())::float8 as left
        from webhook_deliveries`);
    const { whole = 0, left = Infinity } = row ?? {};
    assert.ok(whole > planned * 0.79 && left < planned * 1.21, `${left}–${whole} for ${planned}`);
    await world.hurry(1);
  }
  await attempt(SECONDS.length + 1);
  await world.left(0);

  const attempts = await world.attempts();
  assert.deepEqual(
    attempts.map(({ attempt, step, http_status, ended }) => [attempt, step, http_status, ended]),
    [0, 1, 2, 3, 4, 5, 6].map((step) => [step + 1, step, 503, step === 6 ? "exhausted" : null]),
  );
  const history = await webhookHistory(world.db, { accountId: world.accountId, messageId });
  assert.equal(history.get(2)?.state, "exhausted");
  assert.equal(history.get(2)?.attempts.length, 7);
});

test("410 ends one delivery, and the next event of the message is still delivered", async () => {
  await using receiver = await startReceiver(({ headers }) =>
    headers["x-sms-sequence"] === "2" ? 410 : 200,
  );
  await using world = await webhookWorld();
  world.worker();
  const [messageId] = (await world.sent(1, { url: receiver.url })) as [string];
  await world.left(0);

  await world.move(messageId, "DELIVERED");
  await world.left(0);

  assert.deepEqual(
    (await world.attempts()).map(({ sequence, ended }) => [sequence, ended]),
    [
      [2, "gone"],
      [3, "delivered"],
    ],
  );
});

test("Retry-After extends the wait up to twofold, and a redirect is a failure and not followed", async () => {
  await using elsewhere = await startReceiver();
  await using receiver = await startReceiver(() => ({
    status: 307,
    headers: { "Retry-After": "1000000000", Location: elsewhere.url },
  }));
  await using world = await webhookWorld();
  world.worker();
  await world.sent(1, { url: receiver.url });

  await receiver.arrived(1);
  await world.until("it is recorded", sql`select step = 1 as holds from webhook_deliveries`);

  const [row] = await world.db.query<{ seconds: number }>(sql`
    select extract(epoch from next_at - (select max(at) from webhook_attempts))::float8 as seconds
      from webhook_deliveries`);
  assert.ok((row?.seconds ?? 0) > 5 * 2 * 0.79, `${row?.seconds} s`);
  assert.equal((await world.attempts())[0]?.error_class, "http_307");
  assert.deepEqual(elsewhere.received, []);
});

test("three interruptions in a row end the delivery without a fourth attempt, and each one found is counted", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await world.sent(1, { url: receiver.url });

  assert.equal((await claim(world.db, true)).length, 1);
  for (let crash = 0; crash < 2; crash += 1) {
    await world.expireLeases();
    assert.equal((await claim(world.db, false)).length, 1);
  }
  await world.expireLeases();
  const worker = world.worker();
  await world.left(0);

  assert.deepEqual(
    (await world.attempts()).map(({ attempt, step, error_class, ended }) => [
      attempt,
      step,
      error_class,
      ended,
    ]),
    [
      [1, 0, "interrupted", null],
      [2, 0, "interrupted", null],
      [3, 0, "interrupted", "exhausted"],
    ],
  );
  const { value } = await worker.scrape();
  assert.equal(value("posthorn_webhook_interrupted_total"), 1);
  assert.deepEqual(receiver.received, []);
});

test("interruptions before and after a recorded attempt are not in a row", async () => {
  await using receiver = await startReceiver(() => 500);
  await using world = await webhookWorld();
  await world.sent(1, { url: receiver.url });
  await claim(world.db, true);
  await world.expireLeases();
  await claim(world.db, false);
  await world.expireLeases();
  {
    await using _worker = world.worker();
    await receiver.arrived(1);
  }
  await world.hurry(1);
  await claim(world.db, false);
  await world.expireLeases();
  receiver.answer = () => 200;

  world.worker();
  await world.left(0);

  assert.deepEqual(
    (await world.attempts()).map(({ error_class, ended }) => error_class ?? ended),
    ["interrupted", "interrupted", "http_500", "interrupted", "delivered"],
  );
});

test("a delivery ended by interruptions is counted as exhausted, and reported to watchers", async () => {
  await using world = await webhookWorld();
  const [messageId] = (await world.sent(1, { url: "http://127.0.0.1:9/" })) as [string];
  const { db, accountId } = world;
  await claim(db, true);
  for (let crash = 0; crash < 2; crash += 1) {
    await world.expireLeases();
    await claim(db, false);
  }
  await world.expireLeases();
  await db.query(sql`
    insert into watched_accounts (account_id, since, until)
    values (${accountId}, clock_timestamp(), clock_timestamp() + interval '1 hour')`);

  await claim(db, false);

  const told = await db.query(sql`select account_id, kind, ids from watched_changes`);
  assert.deepEqual(told, [
    { account_id: accountId, kind: "delivery", ids: [eventId(messageId, 2)] },
  ]);
  const counted = await db.query(sql`
    select c.now_is, c.count::integer
      from stat_changes s
     cross join unnest(s.changes) c
     where s.account_id = ${accountId} and c.now_is like 'webhook%'`);
  assert.deepEqual(counted, [{ now_is: "webhook_exhausted", count: 1 }]);
});

test("a delivery whose event was deleted ends, with an attempt that says so", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await world.sent(1, { url: receiver.url });
  await world.db.query(sql`delete from events`);

  world.worker();
  await world.left(0);

  assert.partialDeepStrictEqual(await world.attempts(), [
    { attempt: 1, error_class: "event_missing", ended: "exhausted" },
  ]);
});

test("webhooks of an account whose secret is damaged wait, and other accounts are unaffected", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const other = await world.newAccount();
  await world.db.query(sql`
    update signing_secrets set sealed = 'rubbish' where account_id = ${world.accountId}`);
  await world.sent(1, { url: receiver.url });
  await world.sent(1, { url: receiver.url, accountId: other });

  world.worker();
  await receiver.arrived(1);
  await world.left(1);
  await world.until(
    "it is given back",
    sql`select leased_until is null and attempts = 0 as holds from webhook_deliveries`,
  );

  assert.equal(receiver.received.length, 1);
  assert.equal((await world.attempts()).length, 1);
});

test("a delivery that has waited a day for a host that is only probed ends exhausted", async () => {
  await using silent = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  await world.sent(12, { url: silent.url });
  await world.db.query(sql`
    update webhook_deliveries set created_at = created_at - interval '25 hours'`);
  world.worker({ deadlineMs: 50 });
  await world.left(0);

  const ended = (await world.attempts()).filter((each) => each.ended !== null);
  assert.equal(ended.length, 12);
  assert.ok(ended.every((each) => each.ended === "exhausted"));
  assert.ok(ended.some((each) => each.error_class === "host_open"));
});

test("an attempt in progress when the day of waiting ends is not given up under its worker", async () => {
  await using world = await webhookWorld();
  await world.sent(1, { url: "http://127.0.0.1:9/" });
  await claim(world.db, true);
  await world.db.query(sql`
    update webhook_deliveries set created_at = created_at - interval '25 hours'`);

  const ended = await world.db.query(sql`
    select give_up_waiting(${HOSTS}, interval '24 hours', 10) as count`);

  assert.deepEqual(ended, [{ count: 0 }]);
  assert.deepEqual(await world.attempts(), []);
});

test("a wrong node clock, even set ahead during an attempt, spoils neither the signature's time nor the record", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  let aheadMs = 0;
  const clock = {
    ...systemClock,
    now: () => new Date(0),
    leaseMs: () => systemClock.leaseMs() + aheadMs,
  };
  const [secret] = (await world.signingSecrets()) as [string];
  world.worker({ clock });
  await world.sent(1, { url: receiver.url });
  const [{ body, headers }] = (await receiver.arrived(1)) as [Received];
  assert.ok(verifyWebhook(body, headers, secret));

  aheadMs = 25 * 3_600_000;
  receiver.release(503);
  await world.until(
    "the attempt is recorded",
    sql`select count(*) = 1 as holds from webhook_attempts`,
  );

  const [row] = await world.db.query(sql`
    select abs(extract(epoch from clock_timestamp() - at)) < 60 as is_now from webhook_attempts`);
  assert.deepEqual(row, { is_now: true });
});

test("an exhausted delivery that is replayed gets the whole schedule again", async () => {
  await using receiver = await startReceiver(() => 500);
  await using world = await webhookWorld();
  world.worker();
  const [messageId] = (await world.sent(1, { url: receiver.url })) as [string];
  for (let step = 0; step < 6; step += 1) await world.hurry(1);
  await world.left(0);
  const deliveryId = eventId(messageId, 2);
  const now = systemClock.now();

  const replayed = await replayDelivery(world.db, { deliveryId, actor: "test", now });
  for (let step = 0; step < 6; step += 1) await world.hurry(1);
  await world.left(0);

  assert.equal(replayed.outcome, "replayed");
  const delivery = await findDelivery(world.db, { accountId: world.accountId, deliveryId });
  assert.equal(delivery?.state, "exhausted");
  assert.deepEqual(
    delivery.tried.map(({ attempt, ended }) => [attempt, ended]),
    Array.from({ length: 14 }, (_, n) => [n + 1, n % 7 === 6 ? "exhausted" : null]),
  );
  assert.ok(delivery.tried.slice(7).every(({ replay_id }) => replay_id === delivery.replayId));
});

test("a backlog with two retries per message proceeds without waiting for the next scan", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const messageIds = await world.sent(20, { url: receiver.url, attempts: 1 });
  for (const messageId of messageIds) await world.move(messageId, "DELIVERED");
  // The two events of a message become due one after the other.
  await world.db.query(sql`
    update webhook_deliveries d
       set attempts = 1, step = 1, next_at = clock_timestamp() - n * interval '1 minute'
      from unnest(${messageIds}::uuid[]) with ordinality as m (message_id, n)
     where d.message_id = m.message_id`);

  // By this clock, the time of a second walk never comes.
  world.worker({ clock: { ...systemClock, monotonicMs: () => 0 } });

  assert.ok(await receiver.arrived(20));
});

/** Claims one delivery, like a worker that then dies holding it. */
function claim(db: Database, isFirst: boolean): Promise<{ message_id: string }[]> {
  return db.query(sql`
    select message_id from claim_deliveries(${HOSTS}, array[1], ${isFirst}, interval '30 s')`);
}
