import assert from "node:assert/strict";
import { test } from "node:test";
import { statisticsLoops } from "#console";
import { keepPartitions, redactTexts, sweepIdempotency } from "#messages";
import {
  type Clock,
  createMetrics,
  type Database,
  idFloor,
  type Metrics,
  rawSql,
  silentLog,
  sql,
  systemClock,
} from "#platform";
import { keepAttempts, sweepFollowed } from "#webhooks";
import { audit } from "../../server/cli/audit/audit.ts";
import { sweepLoop } from "../../server/console/sweep.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { onePass } from "../support/one-pass.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { testDatabase } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { scrape } from "../support/scrape.ts";
import { startSending } from "../support/sending.ts";

const DAY_MS = 86_400_000;
const TO = { recipient: "4915112345678", text: "Hello" };
const REFUSED = { recipient: "4915112340002", text: "Hello" };

/** A clock ahead by some days. Ids of a process only grow, so the tests go forward in time. */
function lateClock(days: number): Clock & { setLate(days: number): void } {
  let lateMs = days * DAY_MS;
  return {
    ...systemClock,
    now: () => new Date(systemClock.now().getTime() - lateMs),
    setLate: (fewer) => void (lateMs = fewer * DAY_MS),
  };
}

async function makeMonths(db: Database, around: Date): Promise<void> {
  await db.query(sql`
    select make_partitions(parent, ${around}) from unnest(array['messages', 'events', 'submissions']) parent`);
}

/** The partitions of 2036. */
async function partitionsOf(db: Database, parent: string): Promise<string[]> {
  const made = await db.query<{ name: string }>(sql`
    select c.relname as name
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     where i.inhparent = ${parent}::regclass and c.relname like '%_2036_%'
     order by 1`);
  return made.map(({ name }) => name);
}

async function count(db: Database, table: string): Promise<number> {
  const [row] = await db.query<{ n: number }>(sql`select count(*) as n from ${rawSql(table)}`);
  return row?.n ?? 0;
}

function keepMonths(
  db: Database,
  keepDays: number,
  metrics: Metrics = createMetrics(),
): Promise<number> {
  return onePass(keepPartitions({ db, log: silentLog, metrics, keepDays }));
}

/** Drops what is old; returns the number of months. */
async function dropAll(api: TestApi, keepDays: number): Promise<number> {
  // The service makes partitions when it starts. Meanwhile nobody else drops any.
  await eventually("the service has made its partitions", async () => {
    const { value } = await scrape(api);
    return (
      value("posthorn_partitions_until_timestamp_seconds", { table: "messages" }) !== undefined
    );
  });
  let months = 0;
  while ((await keepMonths(api.db, keepDays)) > 0) months += 1;
  return months;
}

test("this month and the next two have partitions, whatever the session's time zone", async () => {
  await using db = await testDatabase();

  await db.transaction(async (tx) => {
    await tx.query(sql`set local timezone = 'America/New_York'`);
    await tx.query(sql`select make_partitions('messages', '2036-05-15T12:00:00Z')`);
  });

  assert.deepEqual(await partitionsOf(db, "messages"), [
    "messages_2036_04",
    "messages_2036_05",
    "messages_2036_06",
    "messages_2036_07",
  ]);
});

test("a metric shows how far ahead the partitions of messages and attempts reach", async () => {
  await using db = await testDatabase();
  const metrics = createMetrics();
  const around = new Date("2036-05-15T12:00:00Z");
  await makeMonths(db, around);
  await db.query(sql`select keep_attempt_partitions(${around}, interval '36500 days')`);

  await keepMonths(db, 0, metrics);
  await onePass(keepAttempts({ db, metrics, keepDays: 36_500 }));

  const { values } = await metrics.partitionsUntil.get();
  const told = values.map(({ labels, value }) => [labels["table"], new Date(value * 1_000)]);
  assert.deepEqual(told, [
    ["messages", new Date("2036-08-01T00:00:00Z")],
    ["webhook_attempts", new Date("2036-05-19T00:00:00Z")],
  ]);
});

test("a table under a long read gets its partitions later, and blocks no other query meanwhile", async () => {
  await using db = await testDatabase();
  const around = new Date("2036-05-15T12:00:00Z");
  const make = async () => {
    await makeMonths(db, around);
    await db.query(sql`select keep_attempt_partitions(${around}, interval '36500 days')`);
    const counts = ["messages", "events", "submissions", "webhook_attempts"].map(
      async (parent) => (await partitionsOf(db, parent)).length,
    );
    return Promise.all(counts);
  };

  const whileRead = await db.transaction(async (tx) => {
    await tx.query(sql`select from messages, webhook_attempts limit 1`);
    return make();
  });

  assert.deepEqual(whileRead, [0, 4, 4, 0]);
  assert.deepEqual(await make(), [4, 4, 4, 5]);
});

test("a day of attempts being read is dropped later, the others at once, and none too early", async () => {
  await using db = await testDatabase();
  const keep = async (days: number) => {
    await db.query(sql`
      select keep_attempt_partitions('2036-05-15T12:00:00Z', make_interval(days => ${days}))`);
    return (await partitionsOf(db, "webhook_attempts")).map((name) => name.slice(-2));
  };
  await keep(36_500);

  const whileRead = await held(db, async (tx) => {
    await tx.query(sql`lock table webhook_attempts_2036_05_14 in access share mode`);
    return keep(0);
  });

  assert.deepEqual(whileRead, ["14", "15", "16", "17", "18"]);
  assert.deepEqual(await keep(0), ["15", "16", "17", "18"]);
});

test("at most ten days of attempts are dropped per pass: a year's at once would not finish in time", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    select keep_attempt_partitions(now() - make_interval(days => n), interval '36500 days')
      from unnest(array[20, 25, 30]) n`);
  const loop = keepAttempts({ db, metrics: createMetrics(), keepDays: 7 });

  const passes = [await onePass(loop), await onePass(loop), await onePass(loop)];

  assert.deepEqual(passes, [10, 5, 0]);
});

test("a day with attempts in the default partition gets none of its own, the days after it do", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms)
    values (gen_random_uuid(), gen_random_uuid(), 1, 1, '2036-05-15T12:00:00Z', 0, 1)`);

  await db.query(sql`
    select keep_attempt_partitions('2036-05-15T12:00:00Z', interval '36500 days')`);

  const days = (await partitionsOf(db, "webhook_attempts")).map((name) => name.slice(-2));
  assert.deepEqual(days, ["14", "16", "17", "18"]);
  assert.equal(await count(db, "webhook_attempts_other"), 1);
});

test("an old month being read is dropped later, with hardly any wait for it", async () => {
  await using db = await testDatabase();
  await makeMonths(db, new Date("2020-05-15T12:00:00Z"));
  const drop = () =>
    db.transaction(async (tx) => {
      // Ignores the lock timeout that other statements have.
      await tx.query(sql`set local lock_timeout = 0`);
      const [dropped] = await tx.query<{ month: string | null }>(sql`
        select drop_oldest_messages(interval '45 days') as month`);
      return dropped?.month;
    });

  const whileRead = await held(db, async (tx) => {
    await tx.query(sql`lock table events_2020_04 in access share mode`);
    return drop();
  });

  assert.deepEqual([whileRead, await drop()], [null, "2020_04"]);
});

test("an old month is kept if a webhook of it is queued while dropping it waits for readers", async () => {
  await using db = await testDatabase();
  const april = new Date("2020-04-15T12:00:00Z");
  await makeMonths(db, new Date("2020-05-15T12:00:00Z"));
  const drop = () =>
    db.query<{ month: string | null }>(sql`
      select drop_oldest_messages(interval '45 days') as month`);

  // As a replay does: it reads the event and then queues its delivery.
  const { dropping } = await held(db, async (tx) => {
    await tx.query(sql`select from events_2020_04`);
    const asked = drop();
    // It waits so briefly that a slow machine may not see it wait.
    await Promise.race([asked, somebodyWaits(db)]);
    await tx.query(sql`
      insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at)
      values (${idFloor(april)}, 2, gen_random_uuid(), 1, now(), now())`);
    return { dropping: asked };
  });
  const [whileQueued] = await dropping;
  await db.query(sql`delete from webhook_deliveries`);
  const [afterwards] = await drop();

  assert.deepEqual([whileQueued?.month, afterwards?.month], [null, "2020_04"]);
});

test("without a retention period nothing is ever dropped", async () => {
  const clock = lateClock(2_000);
  await using api = await startApi({ clock, prepare: (db) => makeMonths(db, clock.now()) });
  await api.send(TO);

  assert.equal(await dropAll(api, 0), 0);
  assert.equal(await count(api.db, "messages"), 1);
});

test("a month with a message still to be sent is kept, and so is everything after it", async () => {
  const clock = lateClock(200);
  await using api = await startApi({ clock, prepare: (db) => makeMonths(db, clock.now()) });
  await api.send(TO);
  // The month before has nothing waiting, so it may be dropped.
  const gone = await dropAll(api, 45);

  assert.equal(gone, 1);
  assert.equal(await count(api.db, "messages"), 1);
});

test("a month with a webhook still to be posted is kept", async () => {
  const clock = lateClock(200);
  await using world = await startSending({
    api: {
      clock,
      prepare: (db) => makeMonths(db, clock.now()),
      settings: { ROLES: "api,sender" },
    },
  });
  const { db } = world.api;
  const { messageId } = await world.send({ ...TO, callbackUrl: "https://example.com/hook" });
  await world.reached(messageId, "DELIVERED");

  await dropAll(world.api, 45);
  const kept = await count(db, "messages");
  await db.query(sql`delete from webhook_deliveries`);
  await dropAll(world.api, 45);

  assert.deepEqual([kept, await count(db, "messages")], [1, 0]);
});

test("old months go with their events, submissions and older strays; ledger and audit stay sound", async () => {
  const clock = lateClock(200);
  await using world = await startSending({
    api: { clock, prepare: (db) => makeMonths(db, clock.now()) },
  });
  const { db } = world.api;
  const old = [await world.send(TO), await world.send(REFUSED)];
  for (const { messageId } of old) await world.reached(messageId, "DELIVERED", "FAILED");
  clock.setLate(20);
  const recent = await world.send(TO);
  await world.reached(recent.messageId, "DELIVERED");
  const ledger = await count(db, "ledger");
  for (const table of ["messages", "events", "submissions"]) await plantStray(db, table);

  const months = await dropAll(world.api, 90);

  assert.ok(months >= 2, "the month before the messages' month went too");
  assert.deepEqual(await db.query(sql`select message_id from messages`), [
    { message_id: recent.messageId },
  ]);
  for (const table of ["events", "submissions"]) {
    const [left] = await db.query<{ n: number }>(sql`
      select count(*) as n from ${rawSql(table)} where message_id < ${idFloor(clock.now())}::uuid
         and message_id <> ${recent.messageId}`);
    assert.equal(left?.n, 0, table);
  }
  assert.equal(await count(db, "ledger"), ledger);
  assert.deepEqual((await audit(db, { isDrained: true })).violations, []);
});

test("the text of a message is kept until the message is final", async () => {
  const clock = lateClock(20);
  await using api = await startApi({ clock });
  const messageId = (await api.send(TO)).json().messageId as string;
  const text = async () => (await api.get(`/v1/messages/${messageId}`)).json().text as string;

  await redactAll(api.db, 10);
  const waiting = await text();
  await api.db.query(sql`update redactions_due set look_at = clock_timestamp() - interval '1 s'`);
  await redactAll(api.db, 10);
  const stillWaiting = await text();
  await api.post(`/v1/messages/${messageId}/cancel`);
  await api.db.query(sql`update redactions_due set look_at = clock_timestamp() - interval '1 s'`);
  await redactAll(api.db, 10);

  assert.deepEqual([waiting, stillWaiting, await text()], ["Hello", "Hello", "[redacted]"]);
  assert.equal(await count(api.db, "redactions_due"), 0);
});

test("redaction covers every account and page, and later resumes where it stopped", async () => {
  const clock = lateClock(20);
  await using api = await startApi({ clock });
  await api.createAccount();
  await plantMessages(api.db, { perAccount: 1_300, daysAgo: 20 });

  await redactAll(api.db, 15);
  const first = await redactedOf(api.db);
  await plantMessages(api.db, { perAccount: 10, daysAgo: 14 });
  const passes = await redactAll(api.db, 13);

  assert.deepEqual(first, { redacted: 2_600, kept: 0 });
  assert.equal(passes, 1, "what is done is not looked at again");
  assert.deepEqual(await redactedOf(api.db), { redacted: 2_620, kept: 0 });
});

test("attempts are dropped after the configured days, and the audit then does not expect them", async () => {
  const clock = lateClock(20);
  await using receiver = await startReceiver();
  await using world = await startSending({ api: { clock } });
  const { db } = world.api;
  const { messageId } = await world.send({ ...TO, callbackUrl: receiver.url });
  await world.reached(messageId, "DELIVERED");
  await receiver.arrived(2);
  await eventually("all are told", async () => (await count(db, "webhook_deliveries")) === 0);
  await db.query(sql`select keep_attempt_partitions(${clock.now()}, interval '365 days')`);
  await db.query(sql`update webhook_attempts set at = at - interval '20 days'`);
  const before = await audit(db, { isDrained: true });

  await onePass(keepAttempts({ db, metrics: createMetrics(), keepDays: 7 }));

  assert.deepEqual(before.violations, []);
  assert.equal(await count(db, "webhook_attempts"), 0);
  assert.deepEqual((await audit(db, { isDrained: true })).violations, []);
});

test("attempts in the default partition are deleted once they are old, and no others", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms)
    select gen_random_uuid(), gen_random_uuid(), 1, 1, now() - make_interval(days => days), 0, 1
      from unnest(array[6, 8, 8]) days`);

  await onePass(keepAttempts({ db, metrics: createMetrics(), keepDays: 7 }));

  assert.equal(await count(db, "webhook_attempts_other"), 1);
});

test("old texts are replaced, the rest of the message stays, and other messages are untouched", async () => {
  const clock = lateClock(20);
  await using world = await startSending({ api: { clock } });
  const { db } = world.api;
  const old = await world.send({ ...TO, text: "Your code is 123456", reference: "order-1" });
  await world.reached(old.messageId, "DELIVERED");
  clock.setLate(0);
  const recent = await world.send(TO);
  const before = await world.read(old.messageId);

  await redactAll(db, 10);

  assert.deepEqual(await world.read(old.messageId), { ...before, text: "[redacted]" });
  assert.equal((await world.read(recent.messageId)).text, "Hello");
});

test("a host that nothing was sent to within the retention of attempts is forgotten", async () => {
  await using api = await startApi();
  await api.db.query(sql`
    insert into webhook_hosts (account_id, host_key, origin, health, since, last_at)
    select ${api.accountId}, days, 'https://' || days || '.example.com', 'healthy', now(), now() - make_interval(days => days)
      from unnest(array[6, 8]) days`);

  await onePass(keepAttempts({ db: api.db, metrics: createMetrics(), keepDays: 7 }));

  const left = await api.db.query(sql`select origin from webhook_hosts`);
  assert.deepEqual(left, [{ origin: "https://6.example.com" }]);
});

test("a replay is deleted once it is older than the retention of attempts", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into webhook_replays (replay_id, account_id, actor, fingerprint, created_at, total, finished_at)
    select gen_random_uuid(), gen_random_uuid(), days || ' days ago', '', now() - make_interval(days => days), 1, now()
      from unnest(array[6, 8]) days`);

  await onePass(keepAttempts({ db, metrics: createMetrics(), keepDays: 7 }));

  const left = await db.query(sql`select actor from webhook_replays`);
  assert.deepEqual(left, [{ actor: "6 days ago" }]);
});

test("followers are deleted after a day without following, events kept for them after two minutes", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into followers (account_id, until)
    select gen_random_uuid(), now() - make_interval(hours => hours) from unnest(array[23, 25]) hours`);
  await db.query(sql`
    insert into followed_events (account_id, message_id, sequence, at)
    select gen_random_uuid(), gen_random_uuid(), seconds, now() - make_interval(secs => seconds)
      from unnest(array[60, 180]) seconds`);

  await onePass(sweepFollowed(db));

  const left = await db.query(sql`
    select until > now() - interval '24 hours' as is_recent from followers
    union all
    select at > now() - interval '120 s' from followed_events`);
  assert.deepEqual(left, [{ is_recent: true }, { is_recent: true }]);
});

test("events kept for followers and hourly host counts are deleted in pages: millions at once would not finish in time", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into followed_events (account_id, message_id, sequence, at)
    select gen_random_uuid(), gen_random_uuid(), 2, now() - interval '3 minutes' from generate_series(1, 5001)`);
  await db.query(sql`
    insert into webhook_host_hours (account_id, host_key, hour, ok, failed)
    select gen_random_uuid(), n, now() - interval '26 hours', 1, 0 from generate_series(1, 5001) n`);

  for (const loop of [
    sweepFollowed(db),
    keepAttempts({ db, metrics: createMetrics(), keepDays: 7 }),
  ])
    assert.deepEqual([await onePass(loop), await onePass(loop)], [5_000, 0]);
  const left = await db.query(sql`
    select 1 as left from followed_events union all select 1 from webhook_host_hours`);
  assert.deepEqual(left, []);
});

test("a sweep pauses after the last page, however many rows grow old meanwhile", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into idempotency (account_id, key, fingerprint, message_ids, created_at)
    select gen_random_uuid(), n::text, '', '{}', now() - interval '25 hours' from generate_series(1, 5001) n`);
  const sweep = sweepIdempotency(db);

  const passes = [await onePass(sweep), await onePass(sweep)];

  assert.deepEqual([passes, await count(db, "idempotency")], [[5_000, 0], 0]);
});

test("folding statistics pauses after the last page, however many are added meanwhile", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into stat_changes (account_id, changes)
    select gen_random_uuid(), array[row(now(), null, 'QUEUED', null, null, 1, 1)::stat_change]
      from generate_series(1, 5001)`);
  const [fold] = statisticsLoops({ db, clock: systemClock });
  assert.ok(fold);

  const passes = [await onePass(fold), await onePass(fold)];

  assert.deepEqual([passes, await count(db, "stat_changes")], [[5_000, 0], 0]);
});

test("a sweep of idempotency keys reads only the old ones, none of the current day", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into idempotency (account_id, key, fingerprint, message_ids, created_at)
    select gen_random_uuid(), n::text, '', '{}', now() - n * interval '1 minute' from generate_series(1, 1450) n`);

  const read = await readByIndex(db, "idempotency", (tx) => onePass(sweepIdempotency(tx)));

  assert.equal(await count(db, "idempotency"), 1_439);
  assert.equal(read, 11);
});

test("redaction does not read messages it has postponed until they are due", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into redactions_due (look_at, account_id, message_id)
    select now() + n * interval '1 minute', gen_random_uuid(), gen_random_uuid() from generate_series(-1, 1000) n`);

  const read = await readByIndex(db, "redactions_due", (tx) =>
    onePass(redactTexts({ db: tx, days: 10 })),
  );

  assert.equal(await count(db, "redactions_due"), 1_000);
  assert.ok(read < 10, `${read} rows were read`);
});

test("ended sessions, forms and tries of a day ago and links of a month ago are deleted, and no others", async () => {
  await using db = await testDatabase();
  await db.query(sql`
    insert into users (user_id, email, name, password, created_at)
    values (gen_random_uuid(), 'ada@example.com', 'Ada', 'x', now())`);
  await db.query(sql`
    insert into sessions (session_id, token_hash, user_id, is_pending, created_at, seen_at, proven_at, user_agent)
    select gen_random_uuid(), sha256(s.name::bytea), user_id, is_pending, now() - age, now() - idle, now(), s.name
      from users
     cross join (values ('kept: idle', false, interval '11 hours', interval '11 hours'),
                        ('kept: old', false, interval '6 days 23 hours', interval '0'),
                        ('kept: pending', true, interval '9 minutes', interval '9 minutes'),
                        ('idle', false, interval '13 hours', interval '13 hours'),
                        ('old', false, interval '7 days 1 hour', interval '0'),
                        ('pending', true, interval '11 minutes', interval '0')) s (name, is_pending, age, idle)`);
  await db.query(sql`
    insert into form_keys (user_id, key, operation, created_at)
    values (gen_random_uuid(), 'kept', 'createKey', now() - interval '23 hours'),
           (gen_random_uuid(), 'old', 'createKey', now() - interval '25 hours')`);
  await db.query(sql`
    insert into sign_in_tries (subject, tries, at, blocked_until)
    values ('kept', 1, now() - interval '23 hours', '-infinity'), ('old', 1, now() - interval '25 hours', '-infinity')`);
  await db.query(sql`
    insert into links (link_id, kind, token_hash, created_at, created_by, expires_at)
    values (gen_random_uuid(), 'setup', 'a', now(), 'kept', now() - interval '29 days'),
           (gen_random_uuid(), 'setup', 'b', now(), 'old', now() - interval '31 days')`);

  await onePass(sweepLoop(db, systemClock));

  const left = await db.query<{ name: string }>(sql`
    select user_agent as name from sessions
    union all select key from form_keys
    union all select subject from sign_in_tries
    union all select created_by from links
     order by name`);
  const kept = ["kept", "kept", "kept", "kept: idle", "kept: old", "kept: pending"];
  assert.deepEqual(
    left.map(({ name }) => name),
    kept,
  );
});

/** Copies an existing row to a date before all partitions. */
async function plantStray(db: Database, table: string): Promise<void> {
  await db.query(sql`
    insert into ${rawSql(table)}
    select (jsonb_populate_record(t, jsonb_build_object('message_id', id_floor(now() - interval '400 days')))).*
      from ${rawSql(table)} t
     limit 1`);
}

/** How many rows were read by the table's indexes, including those that a filter discarded. */
function readByIndex(
  db: Database,
  table: string,
  work: (within: Database) => Promise<unknown>,
): Promise<number> {
  return db.transaction(async (tx) => {
    // Otherwise a table without statistics counts as small, and is scanned.
    await tx.query(sql`set local enable_seqscan = off`);
    await work({ ...db, query: tx.query });
    const [row] = await tx.query<{ rows: number }>(sql`
      select idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = ${table}`);
    return row?.rows ?? Number.NaN;
  });
}

/** Redacts everything; returns the number of passes. */
async function redactAll(db: Database, days: number): Promise<number> {
  const loop = redactTexts({ db, days });
  let passes = 1;
  while ((await onePass(loop)) > 0) passes += 1;
  return passes;
}

/** Ended messages for all accounts, without their other rows. */
async function plantMessages(
  db: Database,
  { perAccount, daysAgo }: { perAccount: number; daysAgo: number },
): Promise<void> {
  await db.query(sql`
    insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status, created_at, expires_at)
    select a.account_id,
           (left(id_floor(t.at)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
           '4915112345678', 'Hello', 'gsm7', 1, 1, 'SENT', t.at, t.at
      from accounts a
     cross join generate_series(1, ${perAccount}::integer) n
     cross join (select now() - make_interval(days => ${daysAgo}) as at) t`);
}

async function redactedOf(db: Database): Promise<{ redacted: number; kept: number } | undefined> {
  const [row] = await db.query<{ redacted: number; kept: number }>(sql`
    select count(*) filter (where text = '[redacted]') as redacted,
           count(*) filter (where text <> '[redacted]') as kept from messages`);
  return row;
}
