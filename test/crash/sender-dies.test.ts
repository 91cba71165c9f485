import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { type Smsc, type SmscOptions, startSmsc } from "#carriers";
import { setRoute } from "#messages";
import { secretBox, sql, systemClock } from "#platform";
import { addCarrier } from "#sending";
import { startApi, type TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { manualClock } from "../support/manual-clock.ts";
import { type TestDatabase, testDatabase } from "../support/postgres.ts";
import { startService, TEST_SECRET_KEY } from "../support/process.ts";

/** The SMSC chooses the moment of the crash: it has the submit and will not answer. */
async function world(script: SmscOptions, settings: Record<string, unknown> = {}) {
  await using started = new AsyncDisposableStack();
  const db = started.use(await testDatabase());
  const smsc = started.use(await startSmsc(script));
  const now = systemClock.now();
  const secrets = secretBox(Buffer.from(TEST_SECRET_KEY, "base64"));
  const given = {
    host: "127.0.0.1",
    port: smsc.port,
    system_id: "test",
    rate: 0,
    window: 100,
    ...settings,
  };
  const added = await addCarrier(db, {
    name: "c1",
    settings: given,
    password: "secret",
    secrets,
    actor: "test",
    now,
  });
  if (added.outcome !== "added") throw new Error("The carrier was not added.");
  await setRoute(db, { prefix: "", carrierIds: [added.carrierId] }, { actor: "test", now });
  const api = started.use(await startApi({ db }));
  const running = started.move();
  return { db, smsc, api, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function acceptMany(api: TestApi, count: number): Promise<string[]> {
  const messages = Array.from({ length: count }, (_, n) => ({
    recipient: "4915112345678",
    text: `Message ${n}`,
  }));
  const answer = await api.post("/v1/messages/batch", { messages });
  const { data } = answer.json<{ data: { messageId: string }[] }>();
  return data.map(({ messageId }) => messageId);
}

test("a sender killed before the carrier answers loses nothing and hides nothing", async () => {
  await using run = await world({ answer: "never" });
  const { db, smsc, api } = run;
  await acceptMany(api, 20);
  await using first = await startService(db.url, { ROLES: "sender" });

  await smsc.submitArrived(20);
  first.kill("SIGKILL");
  await first.exited;
  smsc.answer("accept");
  await expireClaims(db);
  await using _second = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { DELIVERED: 20 });

  const received = timesReceived(smsc);
  assert.equal(received.size, 20, "every message reached the carrier");
  assert.ok(
    [...received.values()].every((times) => times <= 2),
    "and none more than twice",
  );
  const doubts = await db.query(
    sql`select message_id from submissions where in_doubt_at is not null`,
  );
  assert.equal(doubts.length, 20, "each that was in somebody's hands is on record as a doubt");
  await moneyAgrees(db);
});

test("with in_doubt = fail, what a killed sender held fails and is refunded, and is never sent twice", async () => {
  await using run = await world({ answer: "never" }, { in_doubt: "fail" });
  const { db, smsc, api } = run;
  await acceptMany(api, 5);
  await using first = await startService(db.url, { ROLES: "sender" });

  await smsc.submitArrived(5);
  first.kill("SIGKILL");
  await first.exited;
  smsc.answer("accept");
  await expireClaims(db);
  await using _second = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { FAILED: 5 });

  assert.equal(smsc.submitCount(), 5);
  await moneyAgrees(db);
});

test("a receipt that was not stored before the crash is taken when the carrier repeats it", async () => {
  const clock = manualClock();
  await using run = await world({ clock, receipts: { delayMs: 200 } });
  const { db, smsc, api } = run;
  await acceptMany(api, 1);
  await using first = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { SENT: 1 });

  await held(db, async (tx) => {
    // The test holds the message, so the receipt is in the sender's hands and cannot be stored.
    await tx.query(sql`select message_id from messages for update`);
    clock.advance(200);
    await somebodyWaits(db);
    first.kill("SIGKILL");
    await first.exited;
  });
  await expireClaims(db);
  await using _second = await startService(db.url, { ROLES: "sender" });

  await statusIs(db, { DELIVERED: 1 });
  assert.equal(smsc.submitCount(), 1);
  const [submission] = await db.query<{ receipts: object[] }>(
    sql`select receipts from submissions`,
  );
  assert.equal(submission?.receipts.length, 1, "stored once");
});

test("a stop signal lets answers in, unbinds, gives back what has not left, and leaves no doubt", async () => {
  await using run = await world({ answer: { afterMs: 300, reply: "accept" } }, { window: 5 });
  const { db, smsc, api } = run;
  await acceptMany(api, 30);
  await using first = await startService(db.url, { ROLES: "sender" });

  await smsc.submitArrived(5);
  first.kill("SIGTERM");
  const { code } = await first.exited;

  assert.equal(code, 0, first.output());
  assert.deepEqual(
    await db.query(sql`select message_id from submissions where in_doubt_at is not null`),
    [],
  );
  assert.deepEqual(
    await db.query(sql`select message_id from send_queue where leased_by is not null`),
    [],
  );
  await using _second = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { DELIVERED: 30 });
  assert.equal(smsc.submitCount(), 30);
});

test("a sender that slept past its lease submits nothing more of what others have taken over", async () => {
  await using run = await world({ answer: "never" }, { response_timeout: "5s", rate: 1 });
  const { db, smsc, api } = run;
  await using clock = await leapingClock();
  await using first = await startService(db.url, { ROLES: "sender", ...clock.settings });
  await acceptMany(api, 4);
  await eventually("it sleeps while one that it holds waits for its turn", async () => {
    first.kill("SIGSTOP");
    const claimed = await db.query(sql`select from send_queue where leased_by is not null`);
    if (smsc.submitCount() > 0 && claimed.length > smsc.submitCount()) return true;
    first.kill("SIGCONT");
    return false;
  });

  await clock.leap();
  await expireClaims(db);
  smsc.answer("accept");
  await using _second = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { DELIVERED: 4 });
  const submitted = smsc.submitCount();
  const asleep = sql`
    select from nodes where pid = ${first.pid} and heard_at < clock_timestamp() - interval '30 s'`;
  assert.equal((await db.query(asleep)).length, 1);
  first.kill("SIGCONT");
  await eventually("it is awake", async () => (await db.query(asleep)).length === 0);
  first.kill("SIGTERM");
  await first.exited;

  assert.equal(smsc.submitCount(), submitted);
  await statusIs(db, { DELIVERED: 4 });
  await moneyAgrees(db);
});

/** Settings of a process whose clock the test can put ahead while it sleeps. */
async function leapingClock() {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-clock-"));
  const file = join(folder, "leap");
  const module = new URL("leaping-clock.ts", import.meta.url).href;
  return {
    settings: { LEAP_FILE: file, NODE_OPTIONS: `--import ${module}` },
    leap: () => writeFile(file, ""),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** As if 30 seconds had passed: leases are the database's, and so is their end. */
async function expireClaims(db: TestDatabase): Promise<void> {
  await db.query(sql`update send_queue set due_at = clock_timestamp() where leased_by is not null`);
  await db.query(sql`update nodes set heard_at = heard_at - interval '1 minute'`);
  await db.query(sql`update bind_leases set leased_until = clock_timestamp()`);
}

function timesReceived(smsc: Smsc): Map<string, number> {
  const times = new Map<string, number>();
  for (const { text } of smsc.received()) times.set(text, (times.get(text) ?? 0) + 1);
  return times;
}

async function statusIs(db: TestDatabase, wanted: Record<string, number>): Promise<void> {
  await eventually(`messages are ${JSON.stringify(wanted)}`, async () => {
    const rows = await db.query<{ status: string; count: number }>(
      sql`select status, count(*) as count from messages group by status`,
    );
    return isDeepStrictEqual(
      Object.fromEntries(rows.map(({ status, count }) => [status, count])),
      wanted,
    );
  });
}

async function moneyAgrees(db: TestDatabase): Promise<void> {
  const wrong = await db.query(sql`
    select a.account_id
      from accounts a
     where a.balance <> (select coalesce(sum(amount), 0) from ledger l where l.account_id = a.account_id)
        or exists (select from messages m
                    where m.account_id = a.account_id
                      and (m.status = 'FAILED') <> exists (select from ledger l where l.message_id = m.message_id and l.kind = 'refund'))`);
  assert.deepEqual(wrong, [], "balances, ledger and refunds agree");
}

test("what the simulator owed at the crash is told after the restart, however soon that is", async () => {
  await using api = await startApi({ settings: { ROLES: "api" } });
  await using first = await startService(api.db.url, { ROLES: "sender" });
  const sent = await api.send({ recipient: "4915112340005", text: "Late" });
  const { messageId } = sent.json() as { messageId: string };
  const hasReached = async (status: string) =>
    (await api.get(`/v1/messages/${messageId}`)).json().status === status;
  await eventually("it is SENT", () => hasReached("SENT"));
  first.kill("SIGKILL");
  await first.exited;

  await using _second = await startService(api.db.url, { ROLES: "sender" });

  await eventually("it is DELIVERED", () => hasReached("DELIVERED"));
});
