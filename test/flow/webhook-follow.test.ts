import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { moveMessages } from "#messages";
import {
  openDatabase,
  type Queryable,
  rawSql,
  silentLog,
  type Sql,
  sql,
  systemClock,
} from "#platform";
import { type FollowedEvent, followEvents, forwarder, hasTried } from "#webhooks";
import { verifyWebhook } from "../../sdk/webhook.ts";
import type { Context } from "../../server/cli/command.ts";
import { listenCommands } from "../../server/cli/listen-command.ts";
import { held } from "../support/locks.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";
import { unheard } from "../support/messages.ts";

/** A machine with the wrong time: the database dates what is signed. */
const clock = { ...systemClock, now: () => new Date(0) };

/** Events that wait for other readers. */
const KEPT = 5_000;

/** Follows the world's account until it is disposed of. */
async function follow({ db, secrets, accountId }: WebhookWorld) {
  const seen: FollowedEvent[] = [];
  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  const deps = { db, clock, secrets, version: "test" };
  async function read(): Promise<void> {
    const request = { accountId, signal: stopping.signal, onReady: ready.resolve };
    for await (const event of followEvents(deps, request)) seen.push(event);
  }
  const ended = read();
  await Promise.race([ready.promise, ended]);
  return {
    seen,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  };
}

test("a follower sees every change of status, with or without a callback address, in order and signed by the database's clock", async () => {
  await using world = await webhookWorld();
  const [secret] = (await world.signingSecrets()) as [string];
  await using follower = await follow(world);
  const quiet = await world.message({ url: null });
  const told = await world.message({ url: "http://127.0.0.1:1/hook" });

  for (const messageId of [quiet, told]) {
    await world.move(messageId, "SENT");
    await world.move(messageId, "UNDELIVERED");
  }
  await until("all are seen", () => follower.seen.length >= 4);

  for (const messageId of [quiet, told]) {
    const own = follower.seen.filter((event) => event.messageId === messageId);
    assert.deepEqual(
      own.map(({ event, sequence }) => [event, sequence]),
      [
        ["message.sent", 2],
        ["message.undelivered", 3],
      ],
    );
    for (const { body, sign } of own) assert.ok(verifyWebhook(body, sign(), secret));
  }
  const events = await world.db.query<{ body: Buffer }>(sql`
    select body from events where message_id = ${told} order by sequence`);
  assert.deepEqual(
    follower.seen.filter(({ messageId }) => messageId === told).map(({ body }) => body),
    events.map(({ body }) => body),
  );
});

test("an account counts as having received a webhook once an event was followed, not before", async () => {
  await using world = await webhookWorld();
  await using follower = await follow(world);
  const messageId = await world.message({ url: null });

  const before = await hasTried(world.db, world.accountId);
  await world.move(messageId, "SENT");
  await until("it is seen", () => follower.seen.length === 1);

  assert.deepEqual([before, await hasTried(world.db, world.accountId)], [false, true]);
});

test("once nobody follows an account any more, nothing is written for followers", async () => {
  await using world = await webhookWorld();
  await world.db.query(sql`
    insert into followers (account_id, until) values (${world.accountId}, clock_timestamp())`);

  await world.move(await world.message({ url: null }), "SENT");

  assert.deepEqual(await world.db.query(sql`select message_id from followed_events`), []);
});

test("an event whose transaction commits after a later one is not skipped", async () => {
  await using world = await webhookWorld();
  const [slow, fast] = [await world.message({ url: null }), await world.message({ url: null })];
  await using follower = await follow(world);
  const other = openDatabase({ url: world.db.url, log: silentLog, maxConnections: 1 });
  const mayCommit = Promise.withResolvers<void>();
  const hasWritten = Promise.withResolvers<void>();

  const late = other.transaction(async (tx) => {
    const move = { accountId: world.accountId, recipient: "4915112345678", callbackUrl: null };
    const at = systemClock.now();
    await moveMessages(tx, [{ ...move, messageId: slow, from: "QUEUED", to: "SENT", at }], unheard);
    hasWritten.resolve();
    await mayCommit.promise;
  });
  await hasWritten.promise;
  await world.move(fast, "SENT");
  await until("the later one is seen", () => follower.seen.length === 1);
  mayCommit.resolve();
  await late;
  await until("the earlier one is seen too", () => follower.seen.length === 2);
  await other.close();

  assert.deepEqual(
    follower.seen.map(({ messageId }) => messageId),
    [fast, slow],
  );
});

test("a follower is not ready while a change is under way that does not know of it", async () => {
  await using world = await webhookWorld();
  const messageId = await world.message({ url: null });
  const move = { accountId: world.accountId, recipient: "4915112345678", callbackUrl: null };
  let isOver = false;

  const { following, wasReady } = await held(world.db, async (tx) => {
    const at = systemClock.now();
    await moveMessages(tx, [{ ...move, messageId, from: "QUEUED", to: "SENT", at }], unheard);
    tx.afterCommit(() => void (isOver = true));
    const asked = follow(world).then((follower) => ({ follower, isOver }));
    const soon = setTimeout(1_000, false);
    return { following: asked, wasReady: await Promise.race([asked.then(() => true), soon]) };
  });
  const ready = await following;
  await using _follower = ready.follower;

  assert.deepEqual([wasReady, ready.isOver], [false, true]);
});

test("an event with a transaction number from before a crash is seen", async () => {
  await using world = await webhookWorld();
  const messageId = await world.message({ url: null });
  await world.move(messageId, "SENT");
  await using follower = await follow(world);

  await world.db.query(sql`
    insert into followed_events (xid, account_id, message_id, sequence)
    values ('3', ${world.accountId}, ${messageId}, 2)`);

  await until("it is seen", () => follower.seen.length > 0);
  assert.deepEqual(
    follower.seen.map((event) => [event.messageId, event.sequence]),
    [[messageId, 2]],
  );
});

test("under a generic plan, a follower reads no more if many events are kept for others", async () => {
  await using world = await webhookWorld();
  const other = await world.newAccount();
  const messageId = await world.message({ url: null });
  // From a transaction older than any that runs now, whoever else uses this server.
  await world.db.query(sql`
    insert into followed_events (xid, account_id, message_id, sequence)
    select '3', ${other}, ${messageId}, 2 from generate_series(1, ${KEPT}::int)`);
  await world.db.query(rawSql("analyze followed_events"));
  await world.db.query(
    rawSql(
      "do $$ begin execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); end $$",
    ),
  );
  const db = openDatabase({ url: world.db.url, log: silentLog, maxConnections: 1 });
  const reads: number[] = [];
  const counting: Queryable = {
    query: (statement) =>
      db.transaction(async (tx) => {
        const before = await followedReads(tx);
        const rows = await tx.query<never>(statement);
        reads.push((await followedReads(tx)) - before);
        return rows;
      }),
  };

  {
    await using follower = await follow({ ...world, db: { ...world.db, ...counting } });
    await world.move(messageId, "SENT");
    await until("it is seen", () => follower.seen.length > 0);
  }
  await db.close();

  const most = Math.max(...reads);
  assert.ok(most > 0 && most < KEPT / 10, `${most} of ${KEPT} were read`);
});

/** How many rows of followed events this transaction has read. */
async function followedReads(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ reads: number }>(sql`
    select seq_tup_read + idx_tup_fetch as reads
      from pg_stat_xact_user_tables
     where relname = 'followed_events'`);
  return row?.reads ?? 0;
}

test("nothing is written for an account that nobody follows", async () => {
  await using world = await webhookWorld();
  const other = await world.newAccount();
  await using follower = await follow(world);

  await world.sent(3, { url: "http://127.0.0.1:1/hook", accountId: other });
  await world.sent(1, { url: "http://127.0.0.1:1/hook" });
  await until("the followed one is seen", () => follower.seen.length === 1);

  const rows = await world.db.query(sql`select distinct account_id from followed_events`);
  assert.deepEqual(rows, [{ account_id: world.accountId }]);
});

test("a followed event is forwarded with the same octets and headers", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  await using follower = await follow(world);
  const forwarding = forwarder({ clock: systemClock, url: receiver.url });
  assert.ok(typeof forwarding !== "string");
  await world.move(await world.message({ url: null }), "SENT");
  await until("it is seen", () => follower.seen.length === 1);
  const [event] = follower.seen as [FollowedEvent];
  const headers = event.sign();

  const forwarded = await forwarding.forward({ ...event, headers });
  await forwarding.close();

  assert.partialDeepStrictEqual(forwarded, { httpStatus: 200, error: null });
  const [received] = await receiver.arrived(1);
  assert.deepEqual(received?.body, event.body);
  assert.equal(received.headers["x-sms-signature"], headers["X-SMS-Signature"]);
});

/** Runs `listen --forward-to` as the command line does, until it is disposed of. */
async function listen({ db, secrets, accountId }: WebhookWorld, url: string) {
  const lines: { headers: Record<string, string>; forwarded: { error: string | null } }[] = [];
  const ready = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const listening = { lines, stopping, looks: 0, lateMs: 0 };
  const watched: typeof db = Object.assign(Object.create(db), {
    query: (statement: Sql) => {
      if (statement.text.includes("pg_current_snapshot")) listening.looks += 1;
      return db.query(statement);
    },
  });
  const context = {
    clock: { ...clock, monotonicMs: () => clock.monotonicMs() + listening.lateMs },
    signal: stopping.signal,
    program: { version: "test" },
    terminal: {
      isJson: true,
      printJson: (line: (typeof lines)[number]) => void lines.push(line),
      say: () => ready.resolve(),
    },
    installation: () =>
      Promise.resolve({ db: watched, secrets: () => Promise.resolve(secrets), isAlone: false }),
  } as unknown as Context;
  const [command] = listenCommands;
  const ended = command?.run({ account: accountId, forwardTo: url }, context);
  await Promise.race([ready.promise, ended]);
  return Object.assign(listening, {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  });
}

test("a slow receiver still gets every event, each signed when it is forwarded", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  await using listening = await listen(world, receiver.url);

  await world.sent(600, { url: "http://127.0.0.1:1/hook" });
  await receiver.arrived(32);
  const { looks } = listening;
  await until("all of them are read", () => listening.looks >= looks + 3);
  await world.db.query(sql`delete from followed_events`);
  listening.lateMs = 600_000;
  receiver.release(200);
  await until("all of them are shown", () => listening.lines.length === 600);

  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  assert.equal(new Set(ids).size, 600);
  const [first = 0, ...others] = receiver.received
    .map(({ headers }) => Number(headers["webhook-timestamp"]))
    .filter((_, n) => n === 0 || n >= 32);
  assert.ok(others.every((seconds) => seconds >= first + 600));
});

test("events still waiting for the receiver when listening stops are shown as not forwarded", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  const listening = await listen(world, receiver.url);
  await world.sent(40, { url: "http://127.0.0.1:1/hook" });
  await receiver.arrived(32);
  const { looks } = listening;
  await until("all of them are read", () => listening.looks >= looks + 3);

  listening.stopping.abort();
  receiver.release(200);
  await listening[Symbol.asyncDispose]();

  const errors = listening.lines.map(({ forwarded }) => forwarded.error);
  assert.deepEqual(
    errors.toSorted().slice(0, 8),
    Array.from({ length: 8 }, () => "not forwarded: listening was stopped"),
  );
  assert.equal(errors.filter((error) => error === null).length, 32);
});

test("a follower that stopped reading while another renewed is told that events may be missing", async () => {
  await using world = await webhookWorld();
  const stopping = new AbortController();
  const { db, secrets, accountId } = world;
  let [skewMs, lapses, isReady] = [0, 0, false];
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skewMs };
  const request = {
    accountId,
    signal: stopping.signal,
    onReady: () => void (isReady = true),
    onLapse: () => void (lapses += 1),
  };
  const events = followEvents({ db, clock, secrets, version: "test" }, request);
  const first = events.next();
  await until("it follows", () => isReady);
  await world.sent(1, { url: "http://127.0.0.1:1/hook" });
  await first;

  await using _other = await follow(world);
  skewMs = 120_000;
  const second = events.next();
  await until("it is told", () => lapses === 1);
  stopping.abort();

  assert.equal((await second).done, true);
});
