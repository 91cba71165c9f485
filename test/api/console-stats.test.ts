import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { statisticsLoops } from "#console";
import type { DeliveryErrorCode } from "#contract";
import { type Move, moveMessages } from "#messages";
import { sql, systemClock } from "#platform";
import { consoleOfFile, startConsole, type TestAccount } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { movableClock } from "../support/movable-clock.ts";
import { onePass } from "../support/one-pass.ts";
import { unheard } from "../support/messages.ts";

const DAY = 86_400_000;

const shared = consoleOfFile();

async function accept(console: TestAccount, count: number, segments = 1): Promise<string[]> {
  const { key } = (await sender(console)) ?? {};
  const messages = Array.from({ length: count }, () => ({
    recipient: "4915112345678",
    text: "a".repeat(segments === 1 ? 5 : 161),
  }));
  const answer = await console.app.inject({
    method: "POST",
    url: "/v1/messages/batch",
    headers: { "x-api-key": key ?? "", "content-type": "application/json" },
    payload: JSON.stringify({ messages }),
  });
  assert.equal(answer.statusCode, 202, answer.body);
  return answer.json().data.map(({ messageId }: { messageId: string }) => messageId);
}

const keys = new WeakMap<TestAccount, Promise<{ key: string }>>();

function sender(console: TestAccount) {
  const made = keys.get(console) ?? makeKey(console);
  keys.set(console, made);
  return made;
}

async function makeKey(console: TestAccount): Promise<{ key: string }> {
  const owner = await console.member("owner");
  const body = { name: "x", scopes: ["messages:send"] };
  return (await owner.post(`/console/accounts/${console.accountId}/keys`, body)).json();
}

type Step = Pick<Move, "from" | "to"> & { error?: DeliveryErrorCode; afterMs?: number };

async function step(
  console: TestAccount,
  messageIds: string[],
  { from, to, error, afterMs = 0 }: Step,
) {
  const { accountId, db } = console;
  const rows = await db.query<{ message_id: string; created_at: Date }>(sql`
    select message_id, created_at from messages where message_id = any (${messageIds}::uuid[])`);
  const moves = rows.map(({ message_id: messageId, created_at }) => {
    const at = new Date(created_at.getTime() + afterMs);
    const base = { accountId, messageId, recipient: "4915112345678", callbackUrl: null, from, at };
    return (
      error ? { ...base, to, error: { code: error, carrierCode: null } } : { ...base, to }
    ) as Move;
  });
  await db.transaction((tx) => moveMessages(tx, moves, unheard));
}

/** Folds everything, as a node's loop does. While the service itself folds, nobody else can. */
async function fold({ db }: Pick<TestAccount, "db">): Promise<void> {
  await eventually("everything noted is folded", async () => {
    await db.query(sql`select fold_stats(1000)`);
    return (await db.query(sql`select from stat_changes limit 1`)).length === 0;
  });
}

function sumOf(rows: Record<string, number>[], name: string): number {
  return rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
}

test("after random traffic the sums equal a full count, before and after they are folded", async () => {
  const console = await shared.another();
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;
  const dear = { count: 2, segments: 2, folds: true, afterMs: 1_000 };
  const [failed, delivered] = [
    { ...dear, end: "FAILED" },
    { ...dear, end: "DELIVERED" },
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          count: fc.integer({ min: 1, max: 5 }),
          segments: fc.integer({ min: 1, max: 2 }),
          end: fc.constantFrom("QUEUED", "SENT", "DELIVERED", "UNDELIVERED", "FAILED"),
          folds: fc.boolean(),
          afterMs: fc.integer({ min: 1, max: 100_000 }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      async (batches) => {
        for (const { count, segments, end, folds, afterMs } of batches) {
          const ids = await accept(console, count, segments);
          if (end === "FAILED")
            await step(console, ids, { from: "QUEUED", to: "FAILED", error: "BLOCKED" });
          else if (end !== "QUEUED")
            await step(console, ids, { from: "QUEUED", to: "SENT", afterMs: 1 });
          if (end === "DELIVERED")
            await step(console, ids, { from: "SENT", to: "DELIVERED", afterMs });
          if (end === "UNDELIVERED")
            await step(console, ids, {
              from: "SENT",
              to: "UNDELIVERED",
              error: "RECIPIENT_UNKNOWN",
            });
          if (folds) await fold(console);
        }
      },
    ),
    { numRuns: 5, examples: [[[failed, failed, delivered, delivered]]] },
  );

  const counted = await console.db.query<{ status: string; count: number; credits: number }>(sql`
    select status, count(*) as count, sum(credits) as credits
      from messages
     where account_id = ${console.accountId}
     group by status`);
  const count = (status: string) => counted.find((row) => row.status === status)?.count ?? 0;
  for (const isFolded of [false, true]) {
    // These belong to another account.
    await console.db.query(sql`
      insert into stat_changes (account_id, changes)
      select gen_random_uuid(), array_agg(row(now(), null, now_is, 'BLOCKED', 1, 1, 1)::stat_change)
        from unnest(array['QUEUED', 'SENT', 'DELIVERED', 'UNDELIVERED', 'FAILED']) now_is`);
    if (isFolded) await fold(console);
    const { buckets } = (await viewer.get(`${A}/stats/statuses?range=1h`)).json();
    for (const status of ["QUEUED", "SENT", "DELIVERED", "UNDELIVERED", "FAILED"]) {
      assert.equal(
        sumOf(buckets, status),
        count(status),
        `${status}, ${isFolded ? "folded" : "not all folded"}`,
      );
    }
    const errors = (await viewer.get(`${A}/stats/errors?range=24h`)).json().data;
    assert.equal(sumOf(errors, "count"), count("FAILED") + count("UNDELIVERED"));
    const credits = (await viewer.get(`${A}/stats/credits?range=24h`)).json().buckets;
    assert.equal(
      sumOf(credits, "charged"),
      counted.reduce((sum, row) => sum + row.credits, 0),
    );
    assert.equal(
      sumOf(credits, "refunded"),
      counted.find(({ status }) => status === "FAILED")?.credits ?? 0,
    );
    const latency = (await viewer.get(`${A}/stats/latency?range=24h`)).json().buckets;
    assert.equal(sumOf(latency, "count"), count("DELIVERED"));
  }
  const left = await console.db.query(sql`select change_id from stat_changes`);
  assert.deepEqual(left, []);
});

test("webhooks that are folded in several parts add up", async () => {
  const { db, accountId } = await shared.another();
  const kinds = ["webhook_delivered", "webhook_exhausted", "webhook_failed"];
  for (const _part of [1, 2]) {
    await db.query(sql`
      insert into stat_changes (account_id, changes)
      select ${accountId}, array_agg(row(timestamptz '2026-01-01', null, kind, null, null, 1, 0)::stat_change)
        from unnest(${kinds}::text[]) kind`);
    await fold({ db });
  }

  const sums = await db.query(sql`
    select webhooks_delivered, webhooks_exhausted, webhooks_failed
      from stat_spans
     where account_id = ${accountId} and width = 15`);
  assert.deepEqual(sums, [{ webhooks_delivered: 2, webhooks_exhausted: 2, webhooks_failed: 2 }]);
});

test("the summary has four figures for the span and the one before", async () => {
  const clock = movableClock();
  await using console = await startConsole({ clock });
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;
  const older = await accept(console, 3);
  await step(console, older, { from: "QUEUED", to: "SENT", afterMs: 1 });
  await step(console, older, { from: "SENT", to: "DELIVERED", afterMs: 1_000 });
  // In a zone without summer time, where seven days always have the same length.
  clock.advance(7 * DAY);
  const newer = await accept(console, 2);
  await console.db.query(sql`
    update messages set send_at = created_at + interval '1 hour' where message_id = ${newer[0]}`);
  await step(console, newer.slice(0, 1), { from: "QUEUED", to: "SENT", afterMs: 3_600_001 });
  await step(console, newer.slice(0, 1), { from: "SENT", to: "DELIVERED", afterMs: 3_602_000 });
  await step(console, newer.slice(1), { from: "QUEUED", to: "FAILED", error: "BLOCKED" });
  await viewer.signIn();

  const summary = (await viewer.get(`${A}/stats/summary?range=7d&zone=Asia/Tokyo`)).json();

  assert.partialDeepStrictEqual(summary, {
    now: { messages: 2, delivered: 1, final: 2, creditsUsed: 1 },
    before: { messages: 3, delivered: 3, final: 3, creditsUsed: 3 },
    balance: 996,
    span: { zone: "Asia/Tokyo", bucket: "day" },
  });
  assert.ok(Math.abs(summary.now.p95Ms - 2_000) <= 100, "of a message for later, since its time");
  assert.ok(Math.abs(summary.before.p50Ms - 1_000) <= 50);
  assert.equal((await viewer.get(`${A}/stats/summary?zone=Mars/X`)).statusCode, 422);
  assert.equal((await viewer.get(`${A}/stats/summary?range=custom&from=x&to=y`)).statusCode, 422);
});

test("a range in years that no table can hold is refused", async () => {
  const console = await shared.another();
  const viewer = await console.member("viewer");

  for (const range of [
    "from=0000-06-01T00:00:00Z&to=0000-06-02T00:00:00Z",
    "from=0001-01-01T00:00:00Z&to=0001-01-02T00:00:00Z",
    "from=9999-12-31T22:00:00Z&to=9999-12-31T23:59:30Z",
  ]) {
    const stats = `/console/accounts/${console.accountId}/stats`;
    const answer = await viewer.get(`${stats}/summary?range=custom&${range}`);
    assert.equal(answer.json().error?.details[0]?.field, "from", range);
  }
});

test("alerts list failing receivers, exhausted deliveries, low credits and expiring keys, in this order; progress is marked step by step", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const progress = async () => (await owner.get(`${A}/progress`)).json();
  const alerts = async () =>
    (await owner.get(`${A}/stats/summary`)).json().alerts.map(({ kind }: { kind: string }) => kind);

  assert.deepEqual(await progress(), {
    hasKey: false,
    hasMessage: false,
    hasDelivered: false,
    hasWebhook: false,
    hasInvited: false,
  });
  assert.deepEqual(await alerts(), []);
  await owner.post(`${A}/invitations`, { role: "viewer" });
  assert.equal((await progress()).hasInvited, true);
  await owner.post(`${A}/keys`, { name: "soon", scopes: ["messages:send"], expiresInDays: 2 });
  const ids = await accept(console, 1);
  await step(console, ids, { from: "QUEUED", to: "SENT", afterMs: 1 });
  await step(console, ids, { from: "SENT", to: "DELIVERED", afterMs: 5 });
  assert.deepEqual(await progress(), {
    hasKey: true,
    hasMessage: true,
    hasDelivered: true,
    hasWebhook: false,
    hasInvited: true,
  });
  const { balance: lowCredits } = (await owner.get(`${A}/credits`)).json();
  await owner.call("PATCH", A, { version: 1, lowCredits });
  assert.deepEqual(await alerts(), ["credits_low", "key_expiring"]);
  // Both have failed more often than not, but only the first has deliveries waiting.
  await console.db.query(sql`
    with hosts as (
      insert into webhook_hosts (account_id, host_key, origin, health, since, last_at)
      select ${console.accountId}, key, 'https://' || key || '.example.com', 'proven', now(), now()
        from generate_series(1, 2) key
    ), hours as (
      insert into webhook_host_hours (account_id, host_key, hour, ok, failed)
      select ${console.accountId}, key, now(), 2, 3 from generate_series(1, 2) key
    )
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at)
    values (${ids[0]}, 1, ${console.accountId}, 1, now(), now())`);
  assert.deepEqual(await alerts(), ["receiver_failing", "credits_low", "key_expiring"]);
  await console.db.query(
    sql`update webhook_host_hours set ok = 3 where account_id = ${console.accountId}`,
  );
  assert.deepEqual(await alerts(), ["credits_low", "key_expiring"]);
  await console.db.query(sql`
    update webhook_hosts set health = 'open' where account_id = ${console.accountId}`);
  await console.db.query(sql`
    insert into stat_changes (account_id, changes)
    select ${console.accountId}, array[row(now(), null, 'webhook_exhausted', null, null, 1, 0)::stat_change]`);
  assert.deepEqual(await alerts(), [
    "receiver_failing",
    "deliveries_exhausted",
    "credits_low",
    "key_expiring",
  ]);
});

test("an account without credits is told that they are gone, not that they are low", async () => {
  const console = await shared.another();
  const accountId = await console.createAccount(0);
  const owner = await console.member("owner", { accountId });

  const { alerts } = (await owner.get(`/console/accounts/${accountId}/stats/summary`)).json();

  assert.deepEqual(
    alerts.map(({ kind }: { kind: string }) => kind),
    ["credits_gone"],
  );
});

test("a key is reported as expiring from seven days before", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  for (const expiresInDays of [7, 8])
    await owner.post(`${A}/keys`, {
      name: `in ${expiresInDays} days`,
      scopes: ["messages:send"],
      expiresInDays,
    });

  const { alerts } = (await owner.get(`${A}/stats/summary`)).json();

  assert.partialDeepStrictEqual(alerts, [{ kind: "key_expiring", subject: "in 7 days" }]);
  assert.equal(alerts.length, 1);
});

test("sums by the minute are deleted after 48 hours, those by the quarter-hour are kept", async () => {
  const console = await shared.another();
  await console.db.query(sql`
    insert into stat_changes (account_id, changes)
    select ${console.accountId}, array[row(now() - interval '49 hours', null, 'QUEUED', null, null, 1, 1)::stat_change,
                                       row(now(), null, 'QUEUED', null, null, 1, 1)::stat_change]`);
  await fold(console);
  const widths = () =>
    console.db.query<{ width: number; count: number }>(sql`
      select width, count(*) as count
        from stat_spans
       where account_id = ${console.accountId}
       group by width
       order by width`);

  // The service's own loops may already have done it, so there is no state before to check.
  for (const loop of statisticsLoops({ db: console.db, clock: systemClock })) await onePass(loop);
  assert.deepEqual(await widths(), [
    { width: 1, count: 1 },
    { width: 15, count: 2 },
  ]);
});
