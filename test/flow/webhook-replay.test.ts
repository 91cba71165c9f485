import assert from "node:assert/strict";
import { test } from "node:test";
import { eventId } from "#messages";
import { sql, systemClock } from "#platform";
import {
  cancelReplay,
  continueReplays,
  countExhausted,
  countSelected,
  findReplay,
  finishReplay,
  replayDelivery,
  replaySelected,
  sendTestEvent,
  startBulkReplay,
} from "#webhooks";
import { poster } from "../../server/webhooks/post.ts";
import { verifyWebhook } from "../../sdk/webhook.ts";
import { audit } from "../../server/cli/audit/audit.ts";
import { testEgress } from "../support/egress.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { onePass } from "../support/one-pass.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { laneOf, type WebhookWorld, webhookWorld, type Worker } from "../support/webhook-world.ts";

const LONG_AGO = new Date("2026-01-01T00:00:00Z");

/** Deliveries that ended exhausted, with the state that seven failures leave. */
async function exhausted(world: WebhookWorld, count: number, url: string): Promise<string[]> {
  const messageIds = await world.sent(count, { url });
  await world.db.query(sql`
    with gone as (delete from webhook_deliveries returning account_id, message_id, sequence)
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, http_status, error_class, total_ms, ended)
    select account_id, message_id, sequence, 7, clock_timestamp(), 6, 500, 'http_500', 1, 'exhausted' from gone`);
  return messageIds;
}

function wish({ accountId }: WebhookWorld) {
  return { accountId, since: LONG_AGO, actor: "test", now: systemClock.now() };
}

test("replaying a waiting delivery brings it forward, and creates no second one", async () => {
  await using receiver = await startReceiver(({ headers }) =>
    headers["x-sms-attempt"] === "1" ? 500 : 200,
  );
  await using world = await webhookWorld();
  world.worker();
  const [messageId] = (await world.sent(1, { url: receiver.url })) as [string];
  await world.until(
    "it waits for its second attempt",
    sql`select step = 1 as holds from webhook_deliveries`,
  );

  const replayed = await replayDelivery(world.db, {
    deliveryId: eventId(messageId, 2),
    actor: "test",
    now: systemClock.now(),
  });
  await receiver.arrived(2);
  await world.left(0);

  assert.equal(replayed.outcome, "replayed");
  assert.deepEqual(
    (await world.attempts()).map(({ attempt, ended, replay_id }) => [attempt, ended, replay_id]),
    [
      [1, null, null],
      [2, "delivered", "replayId" in replayed ? replayed.replayId : "none"],
    ],
  );
});

test("a delivery brought forward is waiting in its replay until it ends, even if the replay is stopped", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const { accountId } = world;
  const deliveryIds = (await world.sent(2, { url: receiver.url })).map((id) => eventId(id, 2));
  const wished = { accountId, actor: "test", now: systemClock.now() };

  const { replayId, total } = await replaySelected(world.db, { ...wished, deliveryIds });
  const waiting = await findReplay(world.db, { accountId, replayId });
  await cancelReplay(world.db, { ...wished, replayId });
  await world.left(2);
  await using _worker = world.worker();
  await world.left(0);

  assert.equal(total, 2);
  assert.partialDeepStrictEqual(waiting, { state: "running", total: 2, waiting: 2 });
  assert.partialDeepStrictEqual(await findReplay(world.db, { accountId, replayId }), {
    total: 2,
    waiting: 0,
    delivered: 2,
  });
  const { violations } = await audit(world.db, { isDrained: false });
  assert.deepEqual(
    violations.filter(({ invariant }) => invariant === "I11"),
    [],
  );
});

test("replaying a delivery whose POST is in flight is refused, and posts it no second time", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using other = await startReceiver();
  await using world = await webhookWorld();
  await using _worker = world.worker({ deadlineMs: 120_000 });
  const [messageId] = (await world.sent(1, { url: receiver.url })) as [string];
  await receiver.arrived(1);

  const deliveryId = eventId(messageId, 2);
  const wished = { actor: "test", now: systemClock.now(), idempotencyKey: "a" };
  const replayed = await replayDelivery(world.db, { ...wished, deliveryId });
  const again = await replayDelivery(world.db, { ...wished, deliveryId });
  const selected = await replaySelected(world.db, {
    ...wished,
    accountId: world.accountId,
    deliveryIds: [deliveryId],
  });
  // Whatever was due before this one is claimed no later than it.
  await world.sent(1, { url: other.url, attempts: 1 });
  await other.arrived(1);

  assert.equal(receiver.received.length, 1);
  assert.deepEqual([replayed.outcome, again.outcome], ["in_flight", "in_flight"]);
  assert.equal(selected.total, 0);
  receiver.release(200);
  await world.left(0);
});

/** Shuts the lane: it is only probed, and not before 12 minutes have passed. */
function shut({ lanes }: Worker, accountId: string, url: string): bigint {
  const lane = BigInt(laneOf(accountId, url));
  const place = { accountId, hostname: "127.0.0.1", origin: new URL(url).origin };
  const outcome = { kind: "failed", class: "timeout", detail: "" } as const;
  for (let n = 0; n < 20; n += 1) {
    lanes.probe(lane);
    lanes.take(lane, "again");
    lanes.begin(lane, "again", place);
    lanes.end({ hostKey: lane, kind: "again", place, outcome, durationMs: 0 });
  }
  assert.deepEqual([lanes.healthOf(lane), lanes.mayTry(lane)], ["open", false]);
  return lane;
}

test("a replay to a host that is only probed is tried at once, whoever requested it", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await using worker = world.worker();
  shut(worker, world.accountId, receiver.url);
  const [messageId] = (await exhausted(world, 1, receiver.url)) as [string];

  const deliveryId = eventId(messageId, 2);
  await replayDelivery(world.db, { deliveryId, actor: "test", now: systemClock.now() });

  await receiver.arrived(1);
  await world.left(0);
});

test("a delivered test event ends the wait for a host that is only probed", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await using worker = world.worker();
  const { accountId, db, secrets } = world;
  const lane = shut(worker, accountId, receiver.url);
  const egress = testEgress();
  const posting = poster(egress);
  const clock = systemClock;
  const { lanes } = worker;

  await sendTestEvent(
    { db, clock, secrets, poster: posting, policy: egress.policy, lanes, version: "test" },
    { accountId, url: receiver.url, status: "DELIVERED", actor: "test" },
  );
  await posting.close();

  assert.notEqual(lanes.healthOf(lane), "open");
});

test("a test event is dated by the database's clock, even if the node's is wrong", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const { accountId, db, secrets } = world;
  const egress = testEgress();
  const posting = poster(egress);
  const clock = { ...systemClock, now: () => new Date(0) };
  const [secret] = (await world.signingSecrets()) as [string];

  await sendTestEvent(
    { db, clock, secrets, poster: posting, policy: egress.policy, version: "test" },
    { accountId, url: receiver.url, status: "DELIVERED", actor: "test" },
  );
  await posting.close();

  const [{ body, headers }] = (await receiver.arrived(1)) as [Received];
  assert.ok(verifyWebhook(body, headers, secret));
});

test("one key is one replay, two keys are two, each audited with its actor", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const [messageId] = (await exhausted(world, 1, receiver.url)) as [string];
  const deliveryId = eventId(messageId, 2);
  const replay = (idempotencyKey: string) =>
    replayDelivery(world.db, { deliveryId, actor: "test", now: systemClock.now(), idempotencyKey });

  const [first, again, other] = [await replay("a"), await replay("a"), await replay("b")];

  assert.deepEqual(
    [first.outcome, again.outcome, other.outcome],
    ["replayed", "repeated", "replayed"],
  );
  assert.ok("replayId" in first && "replayId" in again && first.replayId === again.replayId);
  assert.equal((await findReplay(world.db, first))?.total, 1);
  const audited = await world.db.query(sql`
    select actor, object_id from audit_log where action = 'webhook.replayed'`);
  assert.deepEqual(audited, [
    { actor: "test", object_id: deliveryId },
    { actor: "test", object_id: deliveryId },
  ]);
});

test("a replay requested while an attempt is being recorded continues its count", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const [messageId] = (await world.sent(1, { url: "http://127.0.0.1:9/", attempts: 3 })) as [
    string,
  ];
  await db.query(sql`
    update webhook_deliveries set attempts = 4, leased_until = clock_timestamp() + interval '30 s'`);

  const { replay } = await db.transaction(async (tx) => {
    await tx.query(sql`delete from webhook_deliveries`);
    await tx.query(sql`
      insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms, ended)
      values (${accountId}, ${messageId}, 2, 3, clock_timestamp(), 2, 1, null),
             (${accountId}, ${messageId}, 2, 4, clock_timestamp(), 3, 1, 'delivered')`);
    const deliveryId = eventId(messageId, 2);
    const wished = { deliveryId, actor: "test", now: systemClock.now() };
    const replaying = replayDelivery(db, wished);
    await somebodyWaits(db);
    return { replay: replaying };
  });
  await replay;

  const [queued] = await db.query(sql`select attempts from webhook_deliveries`);
  assert.deepEqual(queued, { attempts: 4 });
});

test("a replay waits while an event is added to its message, so that the two are not sent at once", async () => {
  await using world = await webhookWorld();
  const [messageId] = (await exhausted(world, 1, "http://127.0.0.1:9/")) as [string];
  const wished = { deliveryId: eventId(messageId, 2), actor: "test", now: systemClock.now() };

  const { replaying, queued } = await world.db.transaction(async (tx) => {
    await tx.query(sql`
      select from messages where message_id = ${messageId} for no key update`);
    const replay = replayDelivery(world.db, wished);
    await somebodyWaits(world.db);
    return { replaying: replay, queued: await tx.query(sql`select from webhook_deliveries`) };
  });

  assert.deepEqual(queued, []);
  assert.equal((await replaying).outcome, "replayed");
});

test("a replay never counts as a first attempt, even if earlier attempts were deleted: it waits for no event", async () => {
  await using world = await webhookWorld();
  const [messageId] = (await exhausted(world, 1, "http://127.0.0.1:9/")) as [string];
  await world.db.query(sql`truncate webhook_attempts`);

  const deliveryId = eventId(messageId, 2);
  await replayDelivery(world.db, { deliveryId, actor: "test", now: systemClock.now() });

  const [queued] = await world.db.query(sql`select is_first from webhook_deliveries`);
  assert.deepEqual(queued, { is_first: false });
});

test("a delivery whose attempt counter is at its maximum can be replayed, and blocks no other", async () => {
  await using world = await webhookWorld();
  await using receiver = await startReceiver();
  const [messageId] = (await exhausted(world, 1, receiver.url)) as [string];
  await world.db.query(sql`update webhook_attempts set attempt = 32767`);

  const deliveryId = eventId(messageId, 2);
  await replayDelivery(world.db, { deliveryId, actor: "test", now: systemClock.now() });
  await world.sent(1, { url: receiver.url, attempts: 1 });
  await using _worker = world.worker();

  await receiver.arrived(2);
});

test("a delivery that is unknown, too old or of another account is not replayed", async () => {
  await using world = await webhookWorld();
  const [messageId] = (await exhausted(world, 1, "http://127.0.0.1:1/hook")) as [string];
  const deliveryId = eventId(messageId, 2);
  const actor = "test";
  const now = systemClock.now();
  const later = new Date(now.getTime() + 31 * 86_400_000);
  const accountId = await world.newAccount();

  const outcomes = [
    await replayDelivery(world.db, { deliveryId, accountId, actor, now }),
    await replayDelivery(world.db, { deliveryId: eventId(messageId, 3), actor, now }),
    await replayDelivery(world.db, { deliveryId: "rubbish", actor, now }),
    await replayDelivery(world.db, { deliveryId, actor, now: later }),
  ].map(({ outcome }) => outcome);

  assert.deepEqual(outcomes, ["not_found", "not_found", "not_found", "too_old"]);
  await world.left(0);
});

test("of selected deliveries, duplicates count once; those too old or of another account are left out", async () => {
  await using world = await webhookWorld();
  const [messageId] = (await exhausted(world, 1, "http://127.0.0.1:1/hook")) as [string];
  const { db, accountId } = world;
  const now = systemClock.now();
  const select = async (asked: { accountId: string; now: Date }) => {
    const deliveryId = eventId(messageId, 2);
    const request = { ...asked, deliveryIds: [deliveryId, deliveryId], actor: "test" };
    const counted = await countSelected(db, request);
    return [counted, (await replaySelected(db, request)).total];
  };

  const later = new Date(now.getTime() + 31 * 86_400_000);
  assert.deepEqual(await select({ accountId, now: later }), [0, 0]);
  assert.deepEqual(await select({ accountId: await world.newAccount(), now }), [0, 0]);
  assert.deepEqual(await select({ accountId, now }), [1, 1]);
});

test("all exhausted deliveries are counted, queued in pages and delivered; a second request finds none", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await exhausted(world, 1_100, receiver.url);
  const old = await exhausted(world, 1, receiver.url);
  await world.db.transaction(async (tx) => {
    // A trigger forbids changing events; here, time is to have passed.
    await tx.query(sql`set local session_replication_role = replica`);
    await tx.query(sql`
      update events set at = at - interval '30 days' where message_id = any (${old}::uuid[])`);
  });
  const counted = await countExhausted(world.db, wish(world));
  const later = new Date(systemClock.now().getTime() + 60_000);
  const countedLater = await countExhausted(world.db, { ...wish(world), since: later });

  const { replayId, total } = await startBulkReplay(world.db, wish(world));
  const replayed = await finishReplay({ db: world.db, clock: systemClock }, replayId);
  const waiting = await findReplay(world.db, { accountId: world.accountId, replayId });
  world.worker();
  await world.left(0);

  assert.deepEqual([counted, total, replayed], [1_100, 1_100, 1_100]);
  assert.equal(countedLater, 0, "none since then");
  assert.partialDeepStrictEqual(waiting, { state: "running", waiting: 1_100, delivered: 0 });
  assert.partialDeepStrictEqual(
    await findReplay(world.db, { accountId: world.accountId, replayId }),
    { state: "done", total: 1_100, waiting: 0, delivered: 1_100, failed: 0 },
  );
  assert.equal(await countExhausted(world.db, wish(world)), 0);
  const numbers = new Set(receiver.received.map(({ headers }) => headers["x-sms-attempt"]));
  assert.deepEqual(numbers, new Set(["8"]), "attempts count on");
});

test("deliveries exhausted after a bulk replay was requested are not part of it", async () => {
  await using world = await webhookWorld();
  const [before] = await exhausted(world, 1, "http://127.0.0.1:1/hook");
  await world.db.query(sql`update webhook_attempts set at = at - interval '1 s'`);
  await startBulkReplay(world.db, wish(world));
  await exhausted(world, 1, "http://127.0.0.1:1/hook");

  await onePass(continueReplays(world.db));

  const queued = await world.db.query(sql`select message_id from webhook_deliveries`);
  assert.deepEqual(queued, [{ message_id: before }]);
});

test("a bulk replay that cannot continue blocks no other", async () => {
  await using world = await webhookWorld();
  await exhausted(world, 2, "http://127.0.0.1:1/hook");
  const earlier = new Date(systemClock.now().getTime() - 60_000);
  const broken = await startBulkReplay(world.db, { ...wish(world), now: earlier });
  await world.db.query(sql`
    update webhook_replays set queued = 2147483647 where replay_id = ${broken.replayId}`);
  const sound = await startBulkReplay(world.db, wish(world));

  await assert.rejects(onePass(continueReplays(world.db)), /LIMIT/);

  const queued = await world.db.query(sql`select distinct replay_id from webhook_deliveries`);
  assert.deepEqual(queued, [{ replay_id: sound.replayId }]);
});

test("a bulk replay whose process died is resumed where it stopped", async () => {
  await using world = await webhookWorld();
  await exhausted(world, 700, "http://127.0.0.1:1/hook");
  const { replayId } = await startBulkReplay(world.db, wish(world));
  const loop = continueReplays(world.db);
  const { signal } = new AbortController();

  await loop.pass(signal);
  await world.left(500);
  await loop.pass(signal);
  await loop.pass(signal);

  await world.left(700);
  const rows = await world.db.query(sql`
    select distinct replay_id from webhook_deliveries`);
  assert.deepEqual(rows, [{ replay_id: replayId }]);
});

test("a bulk replay ends after ten thousand deliveries, however many are left", async () => {
  await using world = await webhookWorld();
  await exhausted(world, 2, "http://127.0.0.1:1/hook");
  const { replayId } = await startBulkReplay(world.db, wish(world));
  await world.db.query(sql`update webhook_replays set queued = 9999`);

  const replayed = await finishReplay({ db: world.db, clock: systemClock }, replayId);

  assert.equal(replayed, 10_000);
  await world.left(1);
});

test("a bulk replay that another process is working on is skipped", async () => {
  await using world = await webhookWorld();
  await exhausted(world, 1, "http://127.0.0.1:1/hook");
  await startBulkReplay(world.db, wish(world));
  const loop = continueReplays(world.db);
  const { signal } = new AbortController();

  const beside = await world.db.transaction(async (tx) => {
    await tx.query(sql`select from webhook_replays for update`);
    return loop.pass(signal);
  });
  const alone = await loop.pass(signal);

  assert.deepEqual([beside, alone], [0, 1]);
});

test("stopping a replay drops deliveries not yet begun, keeps those tried or interrupted, and queues no more", async () => {
  await using world = await webhookWorld();
  await exhausted(world, 700, "http://127.0.0.1:1/hook");
  const { replayId } = await startBulkReplay(world.db, wish(world));
  await onePass(continueReplays(world.db));
  await world.left(500);
  await world.db.query(sql`
    update webhook_deliveries w set step = p.step, interrupted = p.interrupted
      from (values (1, 1, 0), (2, 0, 1)) as p (place, step, interrupted)
      join (select message_id, row_number() over () as place from webhook_deliveries) d using (place)
     where w.message_id = d.message_id`);

  const cancel = { accountId: world.accountId, replayId, actor: "test", now: systemClock.now() };
  for (let n = 0; n < 2; n += 1) assert.equal(await cancelReplay(world.db, cancel), true);
  await onePass(continueReplays(world.db));

  await world.left(2);
  assert.partialDeepStrictEqual(
    await findReplay(world.db, { accountId: world.accountId, replayId }),
    { state: "canceled", total: 2, waiting: 2 },
  );
  assert.equal(await countExhausted(world.db, wish(world)), 698);
});

test("a delivery tried by a replay that was stopped can be replayed again", async () => {
  await using world = await webhookWorld();
  await exhausted(world, 1, "http://127.0.0.1:1/hook");
  await world.db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, error_class, total_ms)
    select account_id, message_id, sequence, 8, clock_timestamp(), 0, 'our_fault', 1 from webhook_attempts`);

  assert.equal(await countExhausted(world.db, wish(world)), 1);
});

test("a delivery in flight when its replay is stopped continues, and counts", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  await exhausted(world, 1, receiver.url);
  const { replayId } = await startBulkReplay(world.db, wish(world));
  await onePass(continueReplays(world.db));
  await using _worker = world.worker();
  await receiver.arrived(1);

  const cancel = { accountId: world.accountId, replayId, actor: "test", now: systemClock.now() };
  await cancelReplay(world.db, cancel);
  receiver.release(200);
  await world.until(
    "its attempt is on record",
    sql`select exists (select from webhook_attempts where replay_id = ${replayId}) as holds`,
  );

  assert.partialDeepStrictEqual(
    await findReplay(world.db, { accountId: world.accountId, replayId }),
    { state: "canceled", total: 1, waiting: 0, delivered: 1 },
  );
});

test("a replay can be stopped while another takes over its deliveries", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const messageIds = (await exhausted(world, 3, "http://127.0.0.1:1/hook")).toSorted();
  const { replayId } = await startBulkReplay(db, wish(world));
  await onePass(continueReplays(db));
  // Now they are found in the order opposite to that of their ids.
  await db.query(sql`
    with gone as (delete from webhook_deliveries returning *)
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, replay_id, attempts, created_at, next_at)
    select message_id, sequence, account_id, host_key, replay_id, attempts, created_at, next_at
      from gone
     order by message_id desc`);
  const by = { accountId, actor: "test", now: systemClock.now() };
  const deliveryIds = messageIds.map((id) => eventId(id, 2));

  const both = await held(db, async (tx) => {
    await tx.query(sql`
      select from webhook_deliveries where message_id = ${messageIds[1]} for update`);
    const canceling = cancelReplay(db, { ...by, replayId });
    await somebodyWaits(db);
    const replaying = replaySelected(db, { ...by, deliveryIds });
    await somebodyWaits(db, 2);
    return { done: Promise.all([canceling, replaying]) };
  });
  const [isCanceled, { total }] = await both.done;

  assert.deepEqual([isCanceled, total], [true, 3]);
  await world.left(3);
});
