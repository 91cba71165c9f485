import assert from "node:assert/strict";
import { test } from "node:test";
import { sql, systemClock } from "#platform";
import { untilHeldBack } from "#sending";
import { startApi } from "../support/api.ts";
import { change, nodeSees } from "../support/change-carrier.ts";
import { eventually } from "../support/eventually.ts";
import { type SendingWorld, startSending } from "../support/sending.ts";

const TO = { recipient: "4915112345678", text: "Hello" };

test("a message with sendAt stays QUEUED until then, and is sent after", async () => {
  await using world = await startSending();
  const sendAt = new Date(systemClock.now().getTime() + 1_500).toISOString();

  const { messageId, status } = await world.send({ ...TO, sendAt });
  const message = await world.reached(messageId, "DELIVERED");

  assert.equal(status, "QUEUED");
  assert.equal(message.sendAt, sendAt);
  assert.ok((message.sentAt ?? "") >= sendAt, `sent at ${message.sentAt}, asked for ${sendAt}`);
});

test("a message not submitted within its validity is FAILED as EXPIRED and refunded", async () => {
  await using world = await startSending();
  await pause(world, true);
  const { messageId } = await world.send({ ...TO, validitySeconds: 60 });

  await world.api.db.query(sql`update send_queue set expires_at = clock_timestamp()`);
  const message = await world.reached(messageId, "FAILED");

  assert.equal(message.error?.code, "EXPIRED");
  assert.equal(message.creditsRefunded, message.credits);
});

test("a message refused again and again is EXPIRED when its validity ends, and not before", async () => {
  await using world = await startSending({ smscs: [{ answer: { status: 0x08 } }] });
  const { messageId } = await world.send(TO);
  await world.smscs[0]?.submitArrived();
  const expiresAt = new Date(systemClock.now().getTime() + 3_000);
  await world.api.db.query(sql`update send_queue set expires_at = ${expiresAt}`);
  await world.api.db.query(sql`update messages set expires_at = ${expiresAt}`);

  const { error, updatedAt } = await world.reached(messageId, "FAILED");

  assert.deepEqual([error?.code, error?.carrierCode], ["EXPIRED", "0x08"]);
  assert.ok(updatedAt >= expiresAt.toISOString(), `${updatedAt} is before its time`);
});

test("a paused carrier submits nothing, and resumes where it stopped", async () => {
  await using world = await startSending({ smscs: [{}] });
  await pause(world, true);
  const { messageId } = await world.send(TO);
  // This takes longer than the queue ever goes unchecked.
  await nodeSees(world);
  const waiting = await world.read(messageId);
  const submitted = world.smscs[0]?.submitCount();

  await pause(world, false);
  await world.reached(messageId, "DELIVERED");

  assert.equal(waiting.status, "QUEUED");
  assert.equal(submitted, 0);
  assert.equal(world.smscs[0]?.submitCount(), 1);
});

test("once every node reports a carrier as held back, nothing more is submitted, even if already leased", async () => {
  await using world = await startSending({
    smscs: [{ answer: { afterMs: 100, reply: "accept" } }],
    settings: [{ window: 5 }],
    api: { credits: 1_000 },
  });
  const { db } = world.api;
  const [carrier] = await db.query<{ carrier_id: string }>(sql`
    select carrier_id from carriers where name = 'c1'`);
  const heldBack = (limitMs: number) =>
    untilHeldBack(db, carrier?.carrier_id ?? "", { clock: systemClock, limitMs });
  await world.api.post("/v1/messages/batch", { messages: Array.from({ length: 500 }, () => TO) });
  const beforePause = await heldBack(0);
  await world.smscs[0]?.submitArrived();

  await pause(world, true);
  const missing = await heldBack(30_000);
  const submitted = world.smscs[0]?.submitCount() ?? 0;
  await nodeSees(world);

  assert.deepEqual([beforePause, missing], [1, 0]);
  assert.ok(submitted > 0 && submitted < 500, `${submitted} left`);
  assert.equal(world.smscs[0]?.submitCount(), submitted);
  const [left] = await db.query(sql`
    select count(*) filter (where leased_by is not null) as in_hand, count(*) as waiting from send_queue`);
  assert.deepEqual(left, { in_hand: 0, waiting: 500 - submitted });
});

test("waiting for nodes to hold a carrier back reports how many have not", async () => {
  await using world = await startSending({ smscs: [{}] });
  const { db } = world.api;
  await pause(world, true);
  await db.query(sql`
    insert into nodes (node_id, roles, host, pid, version, started_at, heard_at)
    values (gen_random_uuid(), '{sender}', 'deaf', 1, '0', now(), now() + interval '1 minute')`);
  const [carrier] = await db.query<{ carrier_id: string }>(sql`
    select carrier_id from carriers where name = 'c1'`);

  await eventually("our own node has said so", async () => {
    const wish = { clock: systemClock, limitMs: 0 };
    return (await untilHeldBack(db, carrier?.carrier_id ?? "", wish)) === 1;
  });
});

test("a message is never both canceled and submitted", async () => {
  await using world = await startSending({ smscs: [{}] });
  await pause(world, true);
  const sent = await Promise.all(Array.from({ length: 40 }, () => world.send(TO)));

  const [answers] = await Promise.all([
    Promise.all(sent.map(({ messageId }) => world.api.post(`/v1/messages/${messageId}/cancel`))),
    pause(world, false),
  ]);

  const canceled = answers.filter(({ statusCode }) => statusCode === 200).length;
  for (const { messageId } of sent) await world.reached(messageId, "DELIVERED", "FAILED");
  assert.equal(world.smscs[0]?.submitCount(), 40 - canceled);
  const refunds = await world.api.db.query(
    sql`select message_id from ledger where kind = 'refund'`,
  );
  assert.equal(refunds.length, canceled);
});

test("one account's backlog does not hold back another's single message", async () => {
  await using world = await startSending({
    smscs: [{}],
    settings: [{ rate: 50, window: 5 }],
    api: { credits: 10_000 },
  });
  const other = await world.api.createAccount();
  await pause(world, true);
  const backlog = { messages: Array.from({ length: 500 }, () => TO) };
  await world.api.post("/v1/messages/batch", backlog);
  await world.api.send({ ...TO, text: "Single" }, { key: other.key });

  await pause(world, false);
  const ahead = await eventually("the single one is submitted", async () => {
    const position = world.smscs[0]?.received().findIndex(({ text }) => text === "Single") ?? -1;
    return position >= 0 && position;
  });

  assert.ok(ahead < 50, `${ahead} of the backlog left before it`);
});

test("accounts whose messages are not yet due do not hide one behind them that is", async () => {
  await using world = await startSending({ smscs: [{}] });
  await pause(world, true);
  await queueAhead(world, { count: 1_000, dueAfter: "1 hour" });
  const { messageId } = await world.send(TO);

  await pause(world, false);
  await world.reached(messageId, "DELIVERED");

  assert.equal(world.smscs[0]?.submitCount(), 1);
});

test("messages bound to a carrier that is away do not hold up one that can go elsewhere", async () => {
  await using world = await startSending({ smscs: [{}, {}] });
  await world.smscs[0]?.stop();
  await queueAhead(world, { count: 6_000, dueAfter: "-1 hour" });

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");

  assert.equal(world.smscs[1]?.submitCount(), 1);
});

test("two senders on one database share the work without sending anything twice", async () => {
  await using world = await startSending({
    smscs: [{}],
    settings: [{ binds: 2 }],
    api: { credits: 1_000 },
  });
  await using _second = await startApi({ db: world.api.db, settings: { ROLES: "sender" } });
  const messages = Array.from({ length: 200 }, (_, n) => ({ ...TO, text: `Message ${n}` }));

  const answer = await world.api.post("/v1/messages/batch", { messages });
  for (const { messageId } of (answer.json() as { data: { messageId: string }[] }).data) {
    await world.reached(messageId, "DELIVERED");
  }

  const texts = world.smscs[0]?.received().map(({ text }) => text) ?? [];
  assert.equal(texts.length, 200);
  assert.equal(new Set(texts).size, 200);
});

test("a throttled message keeps its place, and so do those behind it", async () => {
  let throttled = false;
  await using world = await startSending({
    smscs: [
      {
        answer({ text }) {
          if (text !== "Message 3" || throttled) return "accept";
          throttled = true;
          return "throttle";
        },
      },
    ],
    settings: [{ rate: 200, window: 10 }],
    api: { credits: 1_000 },
  });
  const messages = Array.from({ length: 100 }, (_, n) => ({ ...TO, text: `Message ${n}` }));

  const answer = await world.api.post("/v1/messages/batch", { messages });
  for (const { messageId } of (answer.json() as { data: { messageId: string }[] }).data)
    await world.reached(messageId, "DELIVERED");

  const order = world.smscs[0]?.received().map(({ text }) => Number(text.slice(8))) ?? [];
  const again = order.lastIndexOf(3);
  const [before, after] = [order.slice(0, again), order.slice(again)];
  // Submits already under way may overtake it: at most a window.
  assert.ok(before.length <= 15, `${before.length} left before it: ${order.join(" ")}`);
  assert.deepEqual(before, before.toSorted(byNumber), "those before it in order");
  assert.deepEqual(after, after.toSorted(byNumber), "those after it in order");
});

test("a carrier that throttles everything for a while gets all of it in order afterwards", async () => {
  let refusals = 5;
  const passed: number[] = [];
  await using world = await startSending({
    smscs: [
      {
        answer({ text }) {
          if (refusals-- > 0) return "throttle";
          passed.push(Number(text.slice(8)));
          return "accept";
        },
      },
    ],
    settings: [{ rate: 200, window: 1 }],
  });
  const messages = Array.from({ length: 4 }, (_, n) => ({ ...TO, text: `Message ${n}` }));

  const answer = await world.api.post("/v1/messages/batch", { messages });
  for (const { messageId } of (answer.json() as { data: { messageId: string }[] }).data)
    await world.reached(messageId, "DELIVERED");

  assert.deepEqual(passed, passed.toSorted(byNumber));
});

const byNumber = (one: number, other: number) => one - other;

async function pause(world: SendingWorld, paused: boolean): Promise<void> {
  const carriers = await world.api.db.query<{ name: string }>(sql`select name from carriers`);
  for (const { name } of carriers) await change(world, name, { paused });
  if (paused) await nodeSees(world);
}

/**
 * Queues a message for the first carrier in each of `count` accounts that sort before the world's.
 * Each already has a segment at that carrier, and so stays with it.
 */
async function queueAhead(
  { api: { db } }: SendingWorld,
  { count, dueAfter }: { count: number; dueAfter: string },
): Promise<void> {
  await db.query(sql`
    with queued as (
      insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at, attempt)
      select uuidv7(), ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, c.carrier_id,
             clock_timestamp() + ${dueAfter}::interval, clock_timestamp() + interval '1 day', 1
        from generate_series(1, ${count}::integer) n
        join carriers c on c.name = 'c1'
      returning message_id, account_id, carrier_id
    )
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome)
    select message_id, 1, 1, account_id, carrier_id, clock_timestamp(), 'accepted'
      from queued`);
}
