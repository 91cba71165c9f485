import assert from "node:assert/strict";
import { test } from "node:test";
import { moveMessages, type WebhookIntake } from "#messages";
import { localMoment, sql, systemClock } from "#platform";
import { startReceiver } from "../support/receiver.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

type Row = { sequence: number; attempts: number; lease_epoch: number; is_leased: boolean };

function rows({ db }: WebhookWorld): Promise<Row[]> {
  return db.query<Row>(sql`
    select sequence, attempts, lease_epoch, leased_until is not null as is_leased
      from webhook_deliveries order by message_id, sequence`);
}

/** Moves a message as the sender on the same node does. */
async function moveBeside(
  world: WebhookWorld,
  { messageId, url, from, to, webhooks, fails = false }: Step,
): Promise<void> {
  const move = { accountId: world.accountId, messageId, recipient: "4915112345678", from, to };
  await world.db
    .transaction(async (tx) => {
      const moved = () => undefined;
      const moves = [{ ...move, callbackUrl: url, at: systemClock.now() }];
      await moveMessages(tx, moves, { webhooks, moved });
      if (fails) throw new Error("rolled back");
    })
    .catch((error: unknown) => assert.ok(fails, String(error)));
}

type Step = {
  messageId: string;
  url: string;
  from: "QUEUED" | "SENT";
  to: "SENT" | "DELIVERED";
  webhooks: WebhookIntake;
  fails?: boolean;
};

/** A receiver that answered this node fast at first, and now answers nothing. */
async function provenReceiver(world: WebhookWorld) {
  const receiver = await startReceiver();
  await world.sent(2, { url: receiver.url });
  await receiver.arrived(2);
  await world.left(0);
  receiver.answer = () => "hold";
  receiver.received.length = 0;
  return receiver;
}

/** A receiver that does not answer keeps its slot for as long as a test lasts. */
const FOR_EVER = { deadlineMs: 120_000 };

/** A message whose next step makes a webhook for such a receiver. */
async function provenWorld() {
  await using started = new AsyncDisposableStack();
  const world = started.use(await webhookWorld());
  const { loop } = world.worker(FOR_EVER);
  const receiver = started.use(await provenReceiver(world));
  const { url } = receiver;
  const messageId = await world.message({ url });
  const step: Step = { messageId, url, from: "QUEUED", to: "SENT", webhooks: loop };
  const all = started.move();
  return { world, receiver, messageId, step, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Has room for everything, but nothing may be taken. */
function roomyIntake() {
  const [woken, released]: [bigint[], bigint[]] = [[], []];
  const webhooks: WebhookIntake = {
    wake: (lanes) => void woken.push(...lanes),
    reserve: () => localMoment(systemClock),
    take: () => assert.fail("nothing may be taken"),
    release: (lanes) => void released.push(...lanes),
  };
  return { webhooks, woken, released };
}

test("a webhook to a receiver known to be fast is leased on creation, and needs no claim", async () => {
  await using proven = await provenWorld();
  const { world, receiver, messageId, step } = proven;

  await moveBeside(world, step);
  const [received] = await receiver.arrived(1);

  assert.equal(received?.headers["x-sms-attempt"], "1");
  assert.deepEqual(await rows(world), [
    { sequence: 2, attempts: 1, lease_epoch: 1, is_leased: true },
  ]);
  receiver.release(200);
  await world.left(0);
  assert.partialDeepStrictEqual(await world.attempts(messageId), [
    { attempt: 1, ended: "delivered" },
  ]);
});

test("the next event of a message waits for the one in flight, and follows it at once", async () => {
  await using proven = await provenWorld();
  const { world, receiver, messageId, step } = proven;
  await moveBeside(world, step);
  await receiver.arrived(1);

  await moveBeside(world, { ...step, from: "SENT", to: "DELIVERED" });

  assert.deepEqual(await rows(world), [
    { sequence: 2, attempts: 1, lease_epoch: 1, is_leased: true },
    { sequence: 3, attempts: 0, lease_epoch: 0, is_leased: false },
  ]);
  receiver.release(200);
  await receiver.arrived(2);
  await world.left(0);
  assert.deepEqual(
    (await world.attempts(messageId)).map(({ sequence, attempt, ended }) => [
      sequence,
      attempt,
      ended,
    ]),
    [
      [2, 1, "delivered"],
      [3, 1, "delivered"],
    ],
  );
});

test("no event is leased on creation while an earlier one of its message waits", async () => {
  await using world = await webhookWorld();
  const url = "http://127.0.0.1:1/hook";
  const messageId = await world.message({ url });
  await world.move(messageId, "SENT");
  const { webhooks, woken, released } = roomyIntake();

  await moveBeside(world, { messageId, url, from: "SENT", to: "DELIVERED", webhooks });

  assert.deepEqual(
    (await rows(world)).map(({ is_leased }) => is_leased),
    [false, false],
  );
  assert.equal(released.length, 1, "its place is free again");
  assert.equal(woken.length, 1, "nobody has the one before, whose end would wake the lane");
});

test("a webhook to an unknown receiver waits for a claim", async () => {
  await using world = await webhookWorld();
  const { loop } = world.worker(FOR_EVER);
  await using receiver = await startReceiver(() => "hold");
  const { url } = receiver;
  await world.sent(2, { url });
  await receiver.arrived(2);
  const messageId = await world.message({ url });

  await moveBeside(world, { messageId, url, from: "QUEUED", to: "SENT", webhooks: loop });

  const [last] = (await rows(world)).slice(-1);
  assert.deepEqual(last, { sequence: 2, attempts: 0, lease_epoch: 0, is_leased: false });
  receiver.release(200);
  await world.left(0);
});

test("a slot reserved by a failed transaction becomes free again", async () => {
  await using world = await webhookWorld();
  const url = "http://127.0.0.1:1/hook";
  const messageId = await world.message({ url });
  const { webhooks, woken, released } = roomyIntake();
  const step = { messageId, url, from: "QUEUED", to: "SENT", webhooks } as const;

  await moveBeside(world, { ...step, fails: true });

  assert.equal(released.length, 1);
  assert.deepEqual(woken, []);
});

test("a node that stops gives back webhooks leased to it on creation that it has not begun", async () => {
  await using world = await webhookWorld();
  const worker = world.worker(FOR_EVER);
  await using receiver = await provenReceiver(world);
  const { url } = receiver;
  const messageIds = await Promise.all(Array.from({ length: 40 }, () => world.message({ url })));
  for (const messageId of messageIds)
    await moveBeside(world, { messageId, url, from: "QUEUED", to: "SENT", webhooks: worker.loop });
  await receiver.arrived(8);

  const stopped = worker[Symbol.asyncDispose]();
  await world.until(
    "what has not begun is given back",
    sql`select count(*) filter (where leased_until is null) > 0 as holds from webhook_deliveries`,
  );
  receiver.release(200);
  await stopped;

  const left = await rows(world);
  assert.equal(left.length + receiver.received.length, 40);
  assert.ok(left.every(({ attempts, is_leased }) => attempts === 0 && !is_leased));
});
