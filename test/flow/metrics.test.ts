import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, openDatabase, silentLog, sql, systemClock } from "#platform";
import { observeSending } from "#sending";
import { observeWebhooks } from "#webhooks";
import { startApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { readScrape, scrape } from "../support/scrape.ts";
import { startSending } from "../support/sending.ts";

const TO = { recipient: "4915112345678", text: "Hello" };
const { signal } = new AbortController();

test("a node that sends nothing reports waiting messages by carrier, and the age of the oldest due", async () => {
  await using api = await startApi();
  const sendAt = new Date(systemClock.now().getTime() + 86_400_000).toISOString();
  for (const body of [TO, TO, { ...TO, sendAt }]) await api.send(body);
  await api.db.query(sql`
    update send_queue set due_at = due_at - interval '90 s' where due_at < clock_timestamp()`);
  const metrics = createMetrics();

  await observeSending({ db: api.db, metrics }).pass(signal);

  const told = readScrape(await metrics.registry.metrics());
  const queue = (state: string) =>
    told.value("posthorn_send_queue_messages", { carrier: "simulator", state });
  assert.deepEqual([queue("due"), queue("held"), queue("scheduled")], [2, 0, 1]);
  const age = told.value("posthorn_send_queue_oldest_due_seconds", { carrier: "simulator" }) ?? 0;
  assert.ok(age >= 90 && age < 600, `${age} s`);
  assert.equal(told.value("posthorn_senders_alive"), 0);
  assert.equal(told.value("posthorn_carrier_paused", { carrier: "simulator" }), 0);
});

test("gauges read from the database are removed while it is away, not repeated", async () => {
  const metrics = createMetrics();
  await using api = await startApi();
  const gone = openDatabase({
    url: "postgres://x@127.0.0.1:1/x",
    log: silentLog,
    maxConnections: 1,
  });
  let db = api.db as typeof gone;
  const loop = observeSending({
    db: { ...gone, query: (statement) => db.query(statement) },
    metrics,
  });

  await loop.pass(signal);
  const before = readScrape(await metrics.registry.metrics());
  db = gone;
  await assert.rejects(async () => loop.pass(signal));
  const after = readScrape(await metrics.registry.metrics());

  assert.equal(before.value("posthorn_parked_receipts"), 0);
  assert.equal(after.value("posthorn_parked_receipts"), undefined);
  assert.equal(after.value("posthorn_send_queue_messages"), undefined);
});

test("a carrier reports its binds, submits, refusals, receipts and window", async () => {
  await using world = await startSending({
    smscs: [
      { answer: ({ recipient }) => (recipient.endsWith("0002") ? { status: 0x0b } : "accept") },
    ],
  });
  const sent = [await world.send(TO), await world.send({ ...TO, recipient: "4915112340002" })];
  for (const { messageId } of sent) await world.reached(messageId, "DELIVERED", "FAILED");

  const { value } = await eventually("both ends are counted", async () => {
    const told = await scrape(world.api);
    const moved = (status: string) => told.value("posthorn_messages_moved_total", { status }) === 1;
    return moved("DELIVERED") && moved("FAILED") && told;
  });

  const of = (name: string, labels = {}) =>
    value(`posthorn_carrier_${name}`, { carrier: "c1", ...labels });
  assert.deepEqual(
    {
      up: of("up"),
      bound: of("binds", { state: "bound" }),
      accepted: of("submits_total", { outcome: "accepted" }),
      withoutId: of("accepted_without_id_total"),
      refused: of("submits_total", { outcome: "refused" }),
      byStatus: of("refusals_total", { status: "0x0B" }),
      receipts: of("receipts_total"),
      texts: of("inbound_texts_total"),
      window: of("window_in_use", { bind: "1" }),
    },
    {
      up: 1,
      bound: 1,
      accepted: 1,
      withoutId: 0,
      refused: 1,
      byStatus: 1,
      receipts: 1,
      texts: 0,
      window: 0,
    },
  );
  assert.equal(value("posthorn_messages_accepted_total"), 2);
  assert.equal(value("posthorn_messages_moved_total", { status: "DELIVERED", error: "" }), 1);
  assert.equal(value("posthorn_messages_moved_total", { status: "FAILED" }), 1);
  assert.equal(value("posthorn_refunds_total"), 1);
});

test("a doubt is counted by its reason, and an unmatched receipt as parked", async () => {
  await using world = await startSending({
    smscs: [{ answer: "drop", receipts: { when: "before", delayMs: 50 } }],
  });
  const { messageId } = await world.send(TO);
  await world.smscs[0]?.submitArrived();
  world.smscs[0]?.answer("accept");
  await world.reached(messageId, "DELIVERED");

  const { value } = await scrape(world.api);

  assert.equal(value("posthorn_receipts_parked_total"), 1);
  assert.equal(value("posthorn_doubts_total", { reason: "link_lost" }), 1);
});

test("a parked receipt given up without ever matching is counted", async () => {
  await using world = await startSending({
    api: {
      prepare: async (db) => {
        await db.query(sql`
          insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
          select id_floor(at), gen_random_uuid(), '{x}', '{}', at
            from (select now() - interval '8 days' as at) as t`);
      },
    },
  });

  const counted = await eventually("it is given up", async () => {
    const { value } = await scrape(world.api);
    return value("posthorn_receipts_unmatched_total") || false;
  });

  assert.equal(counted, 1);
});

test("counters used by alerts start at 0, or an alert would miss the first increment", async () => {
  await using world = await startSending();

  const { samples } = await scrape(world.api);

  const told = (metric: string, label: string) =>
    samples
      .filter(({ name }) => name === metric)
      .map(({ labels, value }) => [labels[label], value]);
  assert.deepEqual(told("posthorn_doubts_total", "reason"), [
    ["timeout", 0],
    ["link_lost", 0],
    ["process_lost", 0],
  ]);
  assert.deepEqual(told("posthorn_webhook_deliveries_ended_total", "ended"), [
    ["delivered", 0],
    ["exhausted", 0],
    ["gone", 0],
    ["forbidden", 0],
  ]);
});

test("a canceled message is counted and refunded like any other failed one", async () => {
  await using api = await startApi();
  const { messageId } = (await api.send(TO)).json() as { messageId: string };

  await api.post(`/v1/messages/${messageId}/cancel`);

  const { value } = await scrape(api);
  const labels = { status: "FAILED", error: "CANCELED" };
  assert.equal(value("posthorn_messages_moved_total", labels), 1);
  assert.equal(value("posthorn_refunds_total"), 1);
});

test("webhooks report attempts by class, delays and how many wait", async () => {
  await using receiver = await startReceiver(({ headers }) =>
    headers["x-sms-event"] === "message.sent" ? 500 : 200,
  );
  await using world = await startSending();
  const { messageId } = await world.send({ ...TO, callbackUrl: receiver.url });
  await world.reached(messageId, "DELIVERED");
  await receiver.arrived(2);
  const { value } = await eventually("both attempts are counted", async () => {
    const told = await scrape(world.api);
    return told.value("posthorn_webhook_attempts_total", { class: "delivered" }) === 1 && told;
  });
  assert.equal(value("posthorn_webhook_attempts_total", { class: "http_500" }), 1);
  assert.equal(value("posthorn_webhook_deliveries_ended_total", { ended: "delivered" }), 1);
  assert.equal(value("posthorn_webhook_first_attempt_delay_seconds_count"), 2);
  assert.ok((value("posthorn_webhook_walked_timestamp_seconds") ?? 0) > 0);
  const metrics = createMetrics();
  const loop = observeWebhooks({ db: world.api.db, metrics });

  // The delivered one counts until its end is stored, shortly after its attempt.
  await eventually("only the refused one waits, for another attempt", async () => {
    await loop.pass(signal);
    const { value: waiting } = readScrape(await metrics.registry.metrics());
    const name = "posthorn_webhook_deliveries_waiting";
    return waiting(name, { attempt: "first" }) === 0 && waiting(name, { attempt: "again" }) === 1;
  });
});

test("the number of waiting webhooks stays while it is recounted, and is removed if that fails", async () => {
  const metrics = createMetrics();
  await using api = await startApi();
  const told: (number | undefined)[] = [];
  const tell = async () => {
    const { value } = readScrape(await metrics.registry.metrics());
    told.push(value("posthorn_webhook_deliveries_waiting", { attempt: "first" }));
  };
  let isAway = false;
  const db: typeof api.db = {
    ...api.db,
    async query(statement) {
      await tell();
      if (isAway) throw new Error("away");
      return api.db.query(statement);
    },
  };
  const loop = observeWebhooks({ db, metrics });

  await loop.pass(signal);
  await loop.pass(signal);
  isAway = true;
  await assert.rejects(async () => loop.pass(signal));
  await tell();

  assert.deepEqual(told, [undefined, 0, 0, undefined]);
});

test("refusals are counted by code, batches by kind, connections by pool", async () => {
  await using api = await startApi({
    settings: { ROLES: "api,sender", RATE_LIMIT_SENDS: "1", RATE_LIMIT_SENDS_BURST: "1" },
  });
  await api.send(TO);
  await api.db.query(sql`update accounts set send_tokens = -1000`);
  await api.send(TO);

  const { value } = await scrape(api);

  assert.equal(value("posthorn_requests_refused_total", { code: "RATE_LIMITED" }), 1);
  assert.equal(value("posthorn_batch_size_count", { kind: "accept" }), 2);
  assert.equal(value("posthorn_batch_waiting", { kind: "accept" }), 0);
  assert.equal(value("posthorn_database_waiting", { pool: "posthorn accept" }), 0);
  const open = (pool: string) =>
    ["idle", "busy"].map((state) => value("posthorn_database_connections", { pool, state }) ?? 0);
  assert.ok(Math.max(...open("posthorn accept")) >= 1);
  assert.ok(Math.max(...open("posthorn send")) >= 1, "who sends waits for no reader");
});

test("an unreachable database is counted, and so are callers that wait for a connection", async () => {
  const metrics = createMetrics();
  const options = { log: silentLog, metrics, maxConnections: 1 };
  const gone = openDatabase({ ...options, url: "postgres://x@127.0.0.1:1/x" });
  await using api = await startApi();
  const narrow = openDatabase({ ...options, url: api.db.url, applicationName: "narrow" });

  await assert.rejects(gone.query(sql`select 1 as n`));
  await Promise.all([1, 2, 3].map(() => narrow.query(sql`select pg_sleep(0.01)`)));

  const { value } = readScrape(await metrics.registry.metrics());
  await narrow.close();
  assert.equal(
    value("posthorn_database_failures_total", { pool: "posthorn", during: "connect" }),
    1,
  );
  assert.equal(value("posthorn_database_waits_total", { pool: "narrow" }), 2);
});

test("with METRICS_LISTEN, /metrics is served only there, and nothing else is", async () => {
  const port = await freePort();
  await using api = await startApi({ settings: { METRICS_LISTEN: `127.0.0.1:${port}` } });
  const there = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);

  assert.match(await (await there("/metrics")).text(), /posthorn_node_info\{.*roles="api"\} 1/);
  assert.equal((await there("/v1/credits")).status, 404);
  assert.equal((await api.inject({ method: "GET", url: "/metrics" })).statusCode, 404);
});
