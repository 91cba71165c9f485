import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createKey, revokeKey } from "#accounts";
import type { Message } from "#contract";
import { bookCredits } from "#credits";
import { sql, systemClock } from "#platform";
import { changeCarrier } from "#sending";
import { command } from "../../server/carriers/smpp/codec/header.ts";
import { ask } from "../support/data-folder.ts";
import { call } from "../storm/call.ts";
import { openHistory } from "../storm/history.ts";
import { startWorld, type World } from "../storm/world.ts";

/** Two nodes that do everything but the dashboard, and one that only serves the API. */
const ROLES = ["api,sender,webhooks", "api", "api,sender"];
const BINDS_OF_BOTH_CARRIERS = 8;
/** Several times the lease of a node that is gone. */
const LIMIT_MS = 180_000;
/** Of what every node lets an account send in a second, and at once. */
const [RATE, BURST] = [400, 400];

/** One for all: three processes on one database. The last test kills one of them. */
let world: World;
let key: { key: string; keyId: string };
let count = 0;

before(async () => {
  world = await startWorld({ history: openHistory(), roles: ROLES, accounts: 1 });
  await topUp(100_000);
  key = await newKey();
});
after(() => world[Symbol.asyncDispose]());

test("a key that was revoked is refused by every node with the next request", async () => {
  const revoked = await newKey();
  for (const { url } of world.nodes) assert.equal((await send(url, revoked.key)).outcome, "ok");

  await revokeKey(world.db, { keyId: revoked.keyId, actor: "test", now: systemClock.now() });

  for (const { url } of world.nodes)
    assert.equal((await send(url, revoked.key)).code, "API_KEY_REVOKED");
});

test("one Idempotency-Key sent to every node at once makes one message, and each tells the same", async () => {
  const body = newBody();

  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      call<Message>(world.nodes[n % world.nodes.length]?.url ?? "", {
        method: "POST",
        path: "/v1/messages",
        key: key.key,
        idempotencyKey: "once",
        body,
      }),
    ),
  );

  assert.deepEqual(new Set(answers.map(({ outcome }) => outcome)), new Set(["ok"]));
  assert.equal(new Set(answers.map((answer) => answer.body?.messageId)).size, 1);
  const stored = await world.db.query(
    sql`select message_id from messages where reference = ${body.reference}`,
  );
  assert.equal(stored.length, 1);
});

test("an account's rate limit counts what all nodes accepted together", async () => {
  // Each node alone would let a burst pass.
  const from = await databaseSeconds();
  const sends = world.nodes.flatMap(({ url }) =>
    Array.from({ length: 4 }, () =>
      call(url, {
        method: "POST",
        path: "/v1/messages/batch",
        key: key.key,
        body: { messages: Array.from({ length: 100 }, newBody) },
      }),
    ),
  );
  const answers = await Promise.all(sends);
  const allowed = BURST + RATE * ((await databaseSeconds()) - from);

  const accepted = 100 * answers.filter(({ outcome }) => outcome === "ok").length;
  assert.ok(accepted > 0 && accepted <= allowed, `${accepted} of ${allowed} were accepted`);
});

test("the senders share the binds that the carriers allow, and open no more", async () => {
  const shares = () =>
    world.db.query<{ binds: number }>(sql`
      select count(*) as binds from bind_leases group by node_id order by node_id`);
  const half = BINDS_OF_BOTH_CARRIERS / 2;
  await settled(
    "each sender has its share",
    async () =>
      JSON.stringify(await shares()) === JSON.stringify([{ binds: half }, { binds: half }]),
  );

  await settled("no more are open", () => world.smsc.openConnections() === BINDS_OF_BOTH_CARRIERS);
});

test("what a node without a sender accepts is sent by the others, and each message once", async () => {
  const sent = await Promise.all(
    Array.from({ length: 20 }, () => send(world.nodes[1]?.url ?? "", key.key)),
  );

  const ids = sent.map(({ body }) => body?.messageId ?? "");
  await allReached(ids, "DELIVERED");

  const times = Map.groupBy(world.history.of("submit"), ({ recipient }) => recipient);
  const recipients = sent.map(({ body }) => body?.recipient ?? "");
  assert.deepEqual(
    recipients.map((recipient) => times.get(recipient)?.length),
    recipients.map(() => 1),
  );
});

test("what a killed node held is sent by another within its lease, and stands as a doubt in the history", async () => {
  await waitForAnswers("20s");
  world.answerSubmits("never");
  const sent = await Promise.all(
    Array.from({ length: 5 }, () => send(world.nodes[0]?.url ?? "", key.key)),
  );
  const ids = sent.map(({ body }) => body?.messageId ?? "");
  const pid = world.nodes[0]?.service()?.pid ?? 0;
  const held = sql`
    select q.message_id from send_queue q join nodes n on n.node_id = q.leased_by
     where n.pid = ${pid} and q.message_id = any (${ids}::uuid[])`;
  await settled("the node holds some", async () => (await world.db.query(held)).length > 0);
  const before = (await world.db.query<{ message_id: string }>(held)).map((row) => row.message_id);

  process.kill(pid, "SIGKILL");
  world.answerSubmits("by_recipient");
  await allReached(ids, "DELIVERED");

  const doubts = await world.db.query<{ message_id: string }>(sql`
    select distinct message_id from submissions
     where in_doubt_at is not null and message_id = any (${before}::uuid[])`);
  assert.deepEqual(doubts.map(({ message_id }) => message_id).toSorted(), before.toSorted());
  const [money] = await ask<{ wrong: string }>(
    world.databaseUrl,
    "select count(*) as wrong from accounts a where balance <> (select sum(amount) from ledger l where l.account_id = a.account_id)",
  );
  assert.equal(money?.wrong, "0");
});

/** Makes the carrier that sends again what is in doubt wait longer: it would fail after two doubts. */
async function waitForAnswers(responseTimeout: string): Promise<void> {
  await settled("all are bound", () => world.smsc.openConnections() === BINDS_OF_BOTH_CARRIERS);
  const binds = world.smsc.pduCount(command.bindTransceiver);
  const [carrier] = await world.db.query<{ carrier_id: string; settings: object }>(sql`
    select carrier_id, settings from carriers where name = 'again'`);
  await changeCarrier(world.db, {
    carrierId: carrier?.carrier_id ?? "",
    settings: { ...carrier?.settings, response_timeout: responseTimeout },
    secrets: world.secrets,
    actor: "test",
    now: systemClock.now(),
  });
  await settled(
    "they are bound anew",
    () => world.smsc.pduCount(command.bindTransceiver) >= binds + BINDS_OF_BOTH_CARRIERS / 2,
  );
}

/** Seconds by the clock that allowances grow by. */
async function databaseSeconds(): Promise<number> {
  const [row] = await world.db.query<{ now: number }>(sql`
    select extract(epoch from clock_timestamp()) as now`);
  return row?.now ?? Number.NaN;
}

function newBody() {
  count += 1;
  const recipient = `49151${String(Math.floor(count / 9_000)).padStart(4, "0")}${1_000 + (count % 9_000)}`;
  return { reference: `nodes-${count}`, recipient, text: `Message ${count}` };
}

function send(url: string, by: string) {
  return call<Message>(url, { method: "POST", path: "/v1/messages", key: by, body: newBody() });
}

async function newKey() {
  const made = await createKey(world.db, {
    accountId: world.accountIds[0] ?? "",
    name: "test",
    scopes: ["messages:send", "messages:read"],
    expiresAt: null,
    actor: "test",
    now: systemClock.now(),
  });
  if (made.outcome !== "created") throw new Error(`No key was created: ${made.outcome}`);
  return made;
}

async function topUp(amount: number): Promise<void> {
  const accountId = world.accountIds[0] ?? "";
  const booking = { accountId, kind: "topup" as const, amount, note: "test", actor: "test" };
  await bookCredits(world.db, { ...booking, now: systemClock.now() });
}

async function allReached(ids: string[], status: string): Promise<void> {
  await settled(`all are ${status}`, async () => {
    const reached = await world.db.query(
      sql`select message_id from messages where message_id = any (${ids}::uuid[]) and status = ${status}`,
    );
    return reached.length === ids.length;
  });
}

async function settled(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > LIMIT_MS) throw new Error(`waited in vain until ${what}`);
    await systemClock.sleep(50);
  }
}
