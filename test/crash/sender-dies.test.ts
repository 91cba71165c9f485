import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { type SmscOptions, startSmsc } from "#carriers";
import { setRoute } from "#messages";
import { sql, systemClock } from "#platform";
import type { Smsc } from "../../server/carriers/smsc.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import { manualClock } from "../support/manual-clock.ts";
import { type TestDatabase, testDatabase } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { TEST_SECRETS } from "../support/secret-key.ts";
import { assertSound } from "../support/sound.ts";

/** The SMSC determines the moment of the crash: it has the submit and will not answer. */
async function world(script: SmscOptions, settings: Record<string, unknown> = {}) {
  await using started = new AsyncDisposableStack();
  const db = started.use(await testDatabase());
  const smsc = started.use(await startSmsc(script));
  const carrierId = await makeCarrier(db, {
    settings: { port: smsc.port, rate: 0, window: 100, ...settings },
    secrets: TEST_SECRETS,
  });
  const by = { actor: "test", now: systemClock.now() };
  await setRoute(db, { prefix: "", carrierIds: [carrierId] }, by);
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

/** The successor is not killed, so it needs no separate process. */
function successor(db: TestDatabase): Promise<TestApi> {
  return startApi({ db, settings: { ROLES: "sender" } });
}

async function kill(sender: ServiceProcess): Promise<void> {
  sender.kill("SIGKILL");
  await sender.exited;
}

test("a sender killed before the carrier answers, or before it submits, loses no message and records each doubt", async () => {
  await using run = await world({ answer: "never" }, { rate: 20 });
  const { db, smsc, api } = run;
  await acceptMany(api, 20);
  await using first = await startService(db.url, { ROLES: "sender" });

  await smsc.submitArrived(5);
  const claimed = await stopAmidTurn(first, run);
  await kill(first);
  await eventually("the last octet is read", async () => smsc.openConnections() === 0);
  const left = smsc.submitCount();
  assert.ok(left < claimed, "one that it held had not left");
  smsc.answer("accept");
  await expireClaims(db);
  await using _second = await successor(db);
  await statusIs(db, { DELIVERED: 20 });

  const received = timesReceived(smsc);
  assert.equal(received.size, 20, "every message reached the carrier");
  assert.equal(smsc.submitCount(), left + 20, "what had left did so once more, all else once");
  const doubts = await db.query(
    sql`select message_id from submissions where in_doubt_at is not null`,
  );
  assert.equal(doubts.length, claimed, "each that was in somebody's hands is on record as a doubt");
  await assertSound(db);
});

test("with in_doubt = fail, messages in doubt after a kill fail, are refunded, and are never sent twice", async () => {
  await using run = await world({ answer: "never" }, { in_doubt: "fail" });
  const { db, smsc, api } = run;
  await acceptMany(api, 5);
  await using first = await startService(db.url, { ROLES: "sender" });

  await smsc.submitArrived(5);
  await kill(first);
  smsc.answer("accept");
  await expireClaims(db);
  await using _second = await successor(db);
  await statusIs(db, { FAILED: 5 });

  assert.equal(smsc.submitCount(), 5);
  await assertSound(db);
});

test("a receipt not answered before the crash is repeated, and changes a message once", async () => {
  const clock = manualClock();
  await using run = await world({ clock, receipts: { delayMs: 200 } });
  const { db, smsc, api } = run;
  await acceptMany(api, 1);
  await using first = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { SENT: 1 });

  await held(db, async (tx) => {
    // The test locks the message: the sender has the receipt, but cannot store it.
    await tx.query(sql`select message_id from messages for update`);
    clock.advance(200);
    await somebodyWaits(db);
    await kill(first);
  });
  await expireClaims(db);
  await using second = await startService(db.url, { ROLES: "sender" });
  await statusIs(db, { DELIVERED: 1 });
  assert.deepEqual(await receiptsOf(db), [[true]], "stored once");

  await acceptMany(api, 1);
  await statusIs(db, { DELIVERED: 1, SENT: 1 });
  // The receipt reaches the sender, but its answer does not reach the SMSC.
  smsc.pauseReading();
  clock.advance(200);
  await statusIs(db, { DELIVERED: 2 });
  await kill(second);
  smsc.dropConnections();
  await expireClaims(db);
  await using _third = await successor(db);

  await eventually("it is repeated", async () => (await receiptsOf(db)).flat().length === 3);
  assert.deepEqual(
    await receiptsOf(db),
    [[true], [true, false]],
    "the repeated one is history only",
  );
  assert.equal(smsc.submitCount(), 2);
  await assertSound(db);
});

/** For each submission, in order, whether each of its receipts changed anything. */
async function receiptsOf(db: TestDatabase): Promise<boolean[][]> {
  const rows = await db.query<{ applied: boolean[] }>(sql`
    select jsonb_path_query_array(receipts, '$[*].applied') as applied from submissions order by message_id, turn`);
  return rows.map(({ applied }) => applied);
}

test("a sender killed before it stores the carrier's answer leaves a doubt, and the receipt meanwhile is parked", async () => {
  await using run = await world({});
  const { db, smsc, api } = run;
  await using first = await startService(db.url, { ROLES: "sender" });

  await held(db, async (tx) => {
    await tx.query(sql`lock table submissions in share mode`);
    await acceptMany(api, 1);
    await smsc.submitArrived();
    await somebodyWaits(db);
    await kill(first);
  });
  await expireClaims(db);
  await using _second = await successor(db);
  await statusIs(db, { DELIVERED: 1 });

  assert.equal(smsc.submitCount(), 2);
  const submissions = await db.query(sql`
    select turn, outcome, doubt_reason, doubt_action from submissions order by turn`);
  assert.deepEqual(submissions, [
    { turn: 1, outcome: null, doubt_reason: "process_lost", doubt_action: "resend" },
    { turn: 2, outcome: "accepted", doubt_reason: null, doubt_action: null },
  ]);
  await eventually(
    "the receipt for the answer that was lost is parked",
    async () => (await db.query(sql`select from parked_receipts`)).length === 1,
  );
  await assertSound(db);
});

test("a stopped sender awaits answers, unbinds, gives back unsent messages, and leaves no doubt", async () => {
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
  await using _second = await successor(db);
  await statusIs(db, { DELIVERED: 30 });
  assert.equal(smsc.submitCount(), 30);
  await assertSound(db);
});

test("a sender that slept past its lease submits nothing that others have taken over", async () => {
  await using run = await world({ answer: "never" }, { response_timeout: "5s", rate: 1 });
  const { db, smsc, api } = run;
  await using clock = await leapingClock();
  await using first = await startService(db.url, { ROLES: "sender", ...clock.settings });
  await acceptMany(api, 4);
  await stopAmidTurn(first, run);

  await clock.leap();
  await expireClaims(db);
  smsc.answer("accept");
  await using _second = await successor(db);
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
  await assertSound(db);
});

/** Stops the sender while some of what it claimed has not left yet. Returns how much it claimed. */
async function stopAmidTurn(
  sender: ServiceProcess,
  { db, smsc }: { db: TestDatabase; smsc: Smsc },
): Promise<number> {
  return eventually("it holds what has not left", async () => {
    sender.kill("SIGSTOP");
    const claimed = await db.query(sql`select from send_queue where leased_by is not null`);
    const left = await restingCount(smsc);
    if (left > 0 && claimed.length > left) return claimed.length;
    sender.kill("SIGCONT");
    return false;
  });
}

/** How many submits left the stopped sender; the last ones may still be in transit, or unread. */
async function restingCount(smsc: Smsc): Promise<number> {
  for (let seen = -1; ; seen = smsc.submitCount()) {
    await systemClock.sleep(20);
    // However busy the machine was, there was time to read what had arrived.
    for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
    if (smsc.submitCount() === seen) return seen;
  }
}

/** Settings of a process whose clock the test can advance while it sleeps. */
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

/** As if the holder had long been silent; leases expire by the database's clock. */
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

test("receipts due from the simulator at a crash come after the restart, however soon that is", async () => {
  await using api = await startApi({ settings: { ROLES: "api" } });
  await using first = await startService(api.db.url, { ROLES: "sender" });
  const sent = await api.send({ recipient: "4915112340005", text: "Late" });
  const { messageId } = sent.json() as { messageId: string };
  const hasReached = async (status: string) =>
    (await api.get(`/v1/messages/${messageId}`)).json().status === status;
  await eventually("it is SENT", () => hasReached("SENT"));
  await kill(first);

  await using _second = await successor(api.db);

  await eventually("it is DELIVERED", () => hasReached("DELIVERED"));
  await assertSound(api.db);
});
