import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { type Clock, newId, NIL_ID, openDatabase, silentLog, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { held } from "../../test/support/locks.ts";
import { claimDueSends, renewDue } from "./due-send.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());
const { db } = api;
beforeEach(() => db.query(sql`delete from send_queue`));

test("a message can be claimed again, however often it was claimed before", async () => {
  await send();
  const [queued] = await db.query<{ carrier_id: string }>(sql`
    update send_queue set attempt = 32767 returning carrier_id`);

  const { due } = await claimDueSends(db, wishFor(queued?.carrier_id), { clock: systemClock });

  assert.equal(due.length, 1);
});

test("a claim is still held even if the database says only half a minute later what was claimed", async () => {
  await send();
  const [queued] = await db.query<{ carrier_id: string }>(sql`
    select carrier_id from send_queue`);
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    leaseMs: () => systemClock.leaseMs() + aheadMs,
    async sleep() {
      aheadMs = 30_000;
      resolve();
    },
  };
  // Unlike the test's own sessions, it gives up waiting for a lock.
  const impatient = openDatabase({ url: db.url, log: silentLog, maxConnections: 2 });

  const { claiming } = await held(db, async (tx) => {
    await tx.query(sql`lock table messages in access exclusive mode`);
    const asked = claimDueSends(impatient, wishFor(queued?.carrier_id), { clock });
    await timedOut;
    return { claiming: asked };
  });

  const [due] = (await claiming).due;
  await impatient.close();
  assert.ok((due?.leasedAtMs ?? 0) >= systemClock.leaseMs() + 29_000, "its lease is a new one");
});

test("a renewal does not prolong a lease that ran out, even if the same node has taken the message again", async () => {
  await send();
  const wish = { ...wishFor(await carrierOf()), nowMs: 0 };
  let leaseMs = 0;
  const clock = { ...systemClock, leaseMs: () => leaseMs };
  const [first] = (await claimDueSends(db, wish, { clock })).due;
  await db.query(sql`update send_queue set due_at = clock_timestamp()`);
  const [second] = (await claimDueSends(db, wish, { clock })).due;
  assert.ok(first && second);

  leaseMs = 10_000;
  await renewDue(db, { nodeId: wish.nodeId, clock }, [first, second]);

  assert.deepEqual([first.leasedAtMs, second.leasedAtMs], [0, 10_000]);
});

test("two claims at the same time take no message twice, and neither waits for the other", async () => {
  const { carrierId } = await queueFour();

  const taken = await db.transaction(async (tx) => [
    ...(await tx.query<Claimed>(claim(carrierId, 2))),
    ...(await db.query<Claimed>(claim(carrierId, 2))),
  ]);

  assert.equal(new Set(taken.map(({ message_id }) => message_id)).size, 4);
});

test("if more messages wait than there is room for, the oldest are claimed", async () => {
  const { carrierId, oldestFirst } = await queueFour();

  const taken = await db.query<Claimed>(claim(carrierId, 2));

  assert.deepEqual(
    taken.map(({ message_id }) => message_id),
    oldestFirst.slice(0, 2),
  );
});

test("if more accounts wait than there is room for, no more messages are claimed than there is room for", async () => {
  await send();
  await send(await api.createAccount());
  await send(await api.createAccount());

  const taken = await db.query<Claimed>(claim(await carrierOf(), 2));

  assert.equal(taken.length, 2);
});

test("the room is shared evenly: an account's backlog leaves the others their part", async () => {
  const other = await api.createAccount();
  for (const by of [api, api, other, other]) await send(by);

  const taken = await db.query<{ account_id: string }>(claim(await carrierOf(), 2));

  const accounts = new Set(taken.map(({ account_id }) => account_id));
  assert.deepEqual(accounts, new Set([api.accountId, other.accountId]));
});

test("messages scheduled for later are not claimed, and their accounts take no share of the room", async () => {
  const later = { sendAt: new Date(Date.now() + 3_600_000) };
  await send(await api.createAccount(), later);
  await send(await api.createAccount(), later);
  const due = [await send(), await send()];
  await send(api, later);

  const taken = await db.query<Claimed>(claim(await carrierOf(), 3));

  assert.deepEqual(
    taken.map(({ message_id }) => message_id),
    due,
  );
});

test("claims follow the order of waiting across accounts; a scheduled message waits from its time on", async () => {
  const other = await api.createAccount();
  const later = await send(other, { sendAt: new Date(Date.now() + 3_600_000) });
  const first = await send(other);
  const second = await send();
  await db.query(sql`
    update send_queue set due_at = due_at - interval '1 hour', placed_at = placed_at - interval '1 hour'`);

  const taken = await db.query<Claimed>(claim(await carrierOf(), 10));

  assert.deepEqual(
    taken.map(({ message_id }) => message_id),
    [first, second, later],
  );
});

test("a claim that reached its most accounts names the last, and the next one finds those behind it", async () => {
  const carrierId = newId(0);
  await db.query(sql`
    insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at)
    select gen_random_uuid(), gen_random_uuid(), ${carrierId}, now(), now() + interval '1 hour'
      from generate_series(1, 501)`);
  const [before, last] = await db.query<{ account_id: string }>(sql`
    select account_id from send_queue order by account_id offset 499`);
  const lastOf = async (afterAccount: string) => {
    const wish = { ...wishFor(carrierId), afterAccount };
    return (await claimDueSends(db, wish, { clock: systemClock })).lastAccount;
  };

  const reached = [await lastOf(NIL_ID), await lastOf(before?.account_id ?? "")];

  assert.deepEqual(reached, [before?.account_id, undefined]);
  const behind = await db.query(sql`
    select lease_epoch from send_queue where account_id = ${last?.account_id}`);
  assert.deepEqual(behind, [{ lease_epoch: 1 }]);
});

type Claimed = { message_id: string };

async function send(by: { key: string } = api, fields: object = {}): Promise<string> {
  const message = { recipient: "4915112345678", text: "Hello", ...fields };
  return (await api.send(message, { key: by.key })).json().messageId;
}

async function carrierOf(): Promise<string> {
  const [queued] = await db.query<{ carrier_id: string }>(sql`select carrier_id from send_queue`);
  return queued?.carrier_id ?? "";
}

function claim(carrierId: string, room: number) {
  const { nodeId, afterAccount } = wishFor(carrierId);
  return sql`
    select message_id, account_id from claim_sends(${carrierId}, ${nodeId}, interval '30 s', ${room}, ${afterAccount})
     where message_id is not null`;
}

async function queueFour() {
  for (let n = 0; n < 4; n += 1) await send();
  const queued = await db.query<{ carrier_id: string; message_id: string }>(sql`
    select carrier_id, message_id from send_queue order by due_at, message_id`);
  const [first] = queued;
  return {
    carrierId: first?.carrier_id ?? "",
    oldestFirst: queued.map(({ message_id }) => message_id),
  };
}

function wishFor(carrierId = ""): Parameters<typeof claimDueSends>[1] {
  return {
    carrierId,
    nodeId: newId(systemClock.now().getTime()),
    room: 10,
    afterAccount: NIL_ID,
    nowMs: systemClock.leaseMs(),
  };
}
