import assert from "node:assert/strict";
import { test } from "node:test";
import { hostKeyOf } from "#messages";
import { sql, systemClock } from "#platform";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

/** Attempts at a silent host keep their slots for as long as a test lasts. */
const FOR_EVER_MS = 120_000;

/** A receiver that this node has seen to answer fast. */
async function provenReceiver(world: WebhookWorld) {
  const receiver = await startReceiver();
  await world.sent(3, { url: receiver.url });
  await receiver.arrived(3);
  await world.left(0);
  return receiver;
}

/** The silent host under many addresses, so that it has many lanes. */
function addressesOf(port: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `http://127.0.7.${n + 1}:${port}/hook`);
}

test("forty unresponsive hosts do not delay a receiver known to be healthy", async () => {
  await using silent = await startReceiver(() => "hold", "0.0.0.0");
  await using world = await webhookWorld();
  const worker = world.worker({ deadlineMs: FOR_EVER_MS });
  await using healthy = await provenReceiver(world);
  await world.sentTo(Array.from({ length: 10 }, () => addressesOf(silent.port, 40)).flat());
  await until("the silent hosts hold all they may", () => silent.received.length === 16);

  await world.sent(200, { url: healthy.url });
  await healthy.arrived(203);

  assert.equal(silent.received.length, 16, "one account may risk 16 slots on strangers");
  assert.equal(worker.lanes.inFlight().unproven, 16);
  silent.release(200);
});

test("a newly started node knows which receivers others found healthy, however many dead ones wait", async () => {
  await using silent = await startReceiver(() => "hold", "0.0.0.0");
  await using world = await webhookWorld();
  const former = world.worker({ deadlineMs: FOR_EVER_MS });
  await using healthy = await provenReceiver(world);
  await former[Symbol.asyncDispose]();
  await world.sentTo(addressesOf(silent.port, 40));
  const worker = world.worker({ deadlineMs: FOR_EVER_MS });
  await until("the silent hosts hold all they may", () => silent.received.length === 16);

  await world.sent(20, { url: healthy.url });

  await healthy.arrived(23);
  assert.deepEqual(worker.recalled, ["127.0.0.1"]);
  silent.release(200);
});

test("five accounts together leave half of all slots to receivers known to be healthy", async () => {
  await using silent = await startReceiver(() => "hold", "0.0.0.0");
  await using world = await webhookWorld();
  const worker = world.worker({ deadlineMs: FOR_EVER_MS });
  await using healthy = await provenReceiver(world);
  const accounts = await Promise.all(Array.from({ length: 10 }, () => world.newAccount()));
  const urls = addressesOf(silent.port, 200);
  for (const [position, accountId] of accounts.entries())
    await world.sentTo(urls.slice(position * 20, position * 20 + 20), { accountId });
  await until("the silent hosts hold all they may", () => silent.received.length === 128);

  await world.sent(200, { url: healthy.url });
  await healthy.arrived(203);

  assert.equal(worker.lanes.inFlight().unproven, 128);
  silent.release(200);
});

test("using a new host name per message gives an account no more than its share", async () => {
  await using silent = await startReceiver(() => "hold", "0.0.0.0");
  await using world = await webhookWorld();
  world.worker({ deadlineMs: FOR_EVER_MS });
  await using healthy = await provenReceiver(world);
  const other = await world.newAccount();
  await world.sentTo(addressesOf(silent.port, 200));
  await until("the silent hosts hold all they may", () => silent.received.length === 16);

  await world.sent(50, { url: healthy.url });
  await world.sent(1, { url: healthy.url, accountId: other });
  await healthy.arrived(54);

  const ended = await world.attempts();
  assert.equal(silent.received.length, 16, JSON.stringify(ended.slice(0, 20)));
  silent.release(200);
});

test("an account with more lanes than a node remembers does not delay another account's receiver", async () => {
  await using silent = await startReceiver(() => "hold", "0.0.0.0");
  await using world = await webhookWorld();
  const { loop } = world.worker({ deadlineMs: FOR_EVER_MS });
  const other = await world.newAccount();
  await using healthy = await startReceiver();
  await world.sentTo(addressesOf(silent.port, 40));
  await until("the silent hosts hold all they may", () => silent.received.length === 16);
  const [first, end] = [hostKeyOf(world.accountId, "") & ~0xffffn, 65_536n];
  for (let n = 0n; n < end; n += 1n) loop.wake([first + n]);

  await world.sent(3, { url: healthy.url, accountId: other });

  await healthy.arrived(3);
  silent.release(200);
});

test("a receiver does not wait for the backlogs of two others at its host name", async () => {
  await using world = await webhookWorld();
  await using receiver = await startReceiver(() => systemClock.sleep(50).then(() => 200));
  const newLane = async () => ({ url: receiver.url, accountId: await world.newAccount() });
  const [one, two, third] = [await newLane(), await newLane(), await newLane()];
  world.worker();
  // Until each of them may use half of the host name's slots.
  for (const lane of [one, two, third]) await world.sent(60, lane);
  await world.left(0);
  for (const lane of [one, two]) await world.sent(800, lane);
  await receiver.arrived(300);

  const [late = ""] = await world.sent(1, third);
  await world.until(
    "the third is told",
    sql`select count(*) = 1 as holds from webhook_attempts where message_id = ${late}`,
  );

  const [backlog] = await world.db.query<{ count: number }>(sql`
    select count(*)::integer as count from webhook_deliveries`);
  assert.ok((backlog?.count ?? 0) > 200, `${backlog?.count} wait`);
});

test("a backlog of retries released at once leaves the slots reserved for first attempts", async () => {
  await using busy = await startReceiver(() => "hold", "0.0.0.0");
  await using world = await webhookWorld();
  const worker = world.worker({ deadlineMs: FOR_EVER_MS });
  // Proven lanes of many accounts, so that only the cap on retries holds them back.
  const accounts = await Promise.all(Array.from({ length: 10 }, () => world.newAccount()));
  const urls = accounts.map((_, n) => `http://127.0.8.${n + 1}:${busy.port}/hook`);
  busy.answer = () => 200;
  for (const [position, accountId] of accounts.entries()) {
    await world.sent(30, { url: urls[position] ?? "", accountId });
    // All of them at once would be too slow on a busy machine to become proven.
    await world.left(0);
  }
  busy.answer = () => "hold";
  const before = busy.received.length;
  for (const [position, accountId] of accounts.entries())
    await world.sent(300, { url: urls[position] ?? "", accountId, attempts: 1 });
  await until("retries hold all they may", () => worker.lanes.inFlight().again === 192);

  await using healthy = await startReceiver();
  await world.sent(20, { url: healthy.url });
  await healthy.arrived(20);

  assert.equal(worker.lanes.inFlight().again, 192);
  assert.ok(busy.received.length - before <= 192);
  // A crash counts against everything leased, so a retry is leased only when it can begin.
  const [leased] = await world.db.query(sql`
    select count(*) as count from webhook_deliveries where leased_until is not null and attempts > 1`);
  assert.deepEqual(leased, { count: 192 });
  busy.release(200);
});

test("more lanes than one pass examines are all served", async () => {
  await using receiver = await startReceiver(() => 200, "0.0.0.0");
  await using world = await webhookWorld();
  const urls = Array.from({ length: 700 }, (_, n) => {
    const host = `127.1.${Math.floor(n / 250)}.${(n % 250) + 1}`;
    return `http://${host}:${receiver.port}/hook`;
  });
  // Lanes that are not due must not hide those behind them.
  await world.sentTo(urls.slice(0, 600));
  await world.db.query(sql`update webhook_deliveries set next_at = next_at + interval '1 hour'`);
  await world.sentTo(urls.slice(600));

  world.worker();
  await world.left(600);

  assert.equal(receiver.received.length, 100);
});
