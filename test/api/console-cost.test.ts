import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browseAudit } from "#accounts";
import { type Queryable, rawSql, type Sql, sql } from "#platform";
import { browseDeliveries, NO_DELIVERY_FILTER } from "../../server/webhooks/browse-deliveries.ts";
import { startConsole } from "../support/console.ts";
import { explain, type PlanNode, rowsRead } from "../support/plans.ts";

const console = await startConsole();
after(() => console[Symbol.asyncDispose]());
const { db, accountId } = console;

const DAYS = 20;
const DELIVERIES = 4_000;
const ENTRIES = 20_000;
const ANYTHING = {
  accountId: null,
  actor: null,
  actions: null,
  objectId: null,
  after: null,
  before: null,
};

/** Webhooks delivered over some weeks, and an audit log with two rare entries. */
before(async () => {
  await db.query(sql`
    select keep_attempt_partitions(day, interval '60 days')
      from generate_series(now() - make_interval(days => ${DAYS}), now(), interval '1 day') day`);
  await db.query(sql`
    with made as materialized (
      select (left(id_floor(at)::text, 24) || lpad(to_hex(n), 11, '0') || '0')::uuid as id, at
        from generate_series(1, ${DELIVERIES}::int) n,
             lateral (select now() - make_interval(days => ${DAYS}) * (1 - n / ${DELIVERIES}::float8)) as t (at)
    ), told as (
      insert into events (message_id, sequence, account_id, status, at, callback_url, body)
      select id, 2, ${accountId}, 'SENT', at, 'https://shop.example.com/sms', '{}' from made
    )
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, http_status, total_ms, ended)
    select ${accountId}, id, 2, 1, at, 0, 200, 31, 'delivered' from made`);
  await db.query(sql`
    insert into audit_log (audit_id, at, object_id, actor, action)
    select (left(id_floor(at)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, at,
           case when n > ${ENTRIES / 2} then 'old thing' end,
           case n when 10 then 'user:seldom' else 'user:often' end, case n when 20 then 'seldom.done' else 'often.done' end
      from generate_series(1, ${ENTRIES}::int) n, lateral (select now() - n * interval '1 minute') as t (at)`);
  await db.query(rawSql("vacuum analyze"));
});

/** Runs statements and records every node of their plans. */
function explaining(nodes: PlanNode[]): Queryable {
  return {
    async query<Row extends object>(statement: Sql): Promise<Row[]> {
      nodes.push(...(await explain(db, statement)));
      return db.query<Row>(statement);
    },
  };
}

const scansOf = (nodes: PlanNode[], table: string) =>
  nodes.filter((node) => node["Relation Name"]?.startsWith(table));

test("a filtered page of deliveries scans each day once, not once per delivery", async () => {
  const nodes: PlanNode[] = [];
  const filter = { ...NO_DELIVERY_FILTER, host: "nobody.example.com" };

  const page = await browseDeliveries(explaining(nodes), {
    accountId,
    filter,
    position: null,
    limit: 25,
  });

  assert.deepEqual(page.rows, []);
  assert.ok(page.lookedUntil, "there is more to look at");
  const scans = scansOf(nodes, "webhook_attempts");
  assert.ok(scans.length > DAYS);
  assert.equal(Math.max(...scans.map((node) => node["Actual Loops"])), 1);
});

test("a filtered page reads no more deliveries if there are many than if there are few", async () => {
  const nodes: PlanNode[] = [];
  const filter = { ...NO_DELIVERY_FILTER, host: "nobody.example.com" };

  const wish = { accountId, filter, position: null, limit: 10_000 };
  const page = await browseDeliveries(explaining(nodes), wish);

  assert.ok(page.lookedUntil, "there is more to look at");
  const cuts = nodes.filter((node) => node["Node Type"] === "Limit");
  assert.equal(Math.max(...cuts.map((node) => node["Actual Rows"])), 2_000);
});

test("a page of deliveries of a past day starts there, however many came since", async () => {
  const createdBefore = new Date(Date.now() - (DAYS - 2) * 86_400_000);
  const filter = { ...NO_DELIVERY_FILTER, createdBefore };

  const { rows } = await browseDeliveries(db, { accountId, filter, position: null, limit: 25 });

  assert.equal(rows.length, 26);
  const [newest, next] = rows.map(({ createdAt }) => createdAt.getTime());
  assert.ok(newest !== undefined && next !== undefined && newest < createdBefore.getTime());
  assert.ok(createdBefore.getTime() - newest <= newest - next + 1, "none is left out");
});

test("a delivery retried weeks later is shown with its last attempt", async () => {
  const [old] = await db.query<{ message_id: string }>(
    sql`select message_id from webhook_attempts order by message_id limit 1`,
  );
  const messageId = old?.message_id ?? "";
  await db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, http_status, total_ms, ended)
    values (${accountId}, ${messageId}, 2, 2, now(), 0, 500, 31, 'exhausted')`);

  const filter = { ...NO_DELIVERY_FILTER, messageId };
  const { rows } = await browseDeliveries(db, { accountId, filter, position: null, limit: 25 });

  assert.deepEqual(
    rows.map(({ state, attempts }) => ({ state, attempts })),
    [{ state: "exhausted", attempts: 2 }],
  );
});

test("a delivery with a forged id from the far future is not found", async () => {
  const operator = await console.member("owner");
  const path = `/console/accounts/${accountId}/webhook-deliveries`;

  const answer = await operator.get(`${path}/ffffffff-ffff-7fff-8fff-fffffffffff2`);

  assert.equal(answer.statusCode, 404);
});

for (const [name, filter] of Object.entries({
  "an actor with few entries": { actor: "user:seldom" },
  "a rare action": { actions: ["seldom.done"] },
})) {
  test(`a page of the audit log of ${name} reads only the rows it shows`, async () => {
    const nodes: PlanNode[] = [];

    const wish = { filter: { ...ANYTHING, ...filter }, position: null, limit: 25 };
    const { rows } = await browseAudit(explaining(nodes), wish);

    assert.equal(rows.length, 1);
    assert.equal(rowsRead(scansOf(nodes, "audit_log")), 1);
  });
}

for (const [name, filter] of Object.entries({
  "an actor with many entries": { actor: "user:often" },
  "an object with many old changes": { objectId: "old thing" },
})) {
  test(`a page of the audit log of ${name} is read in index order`, async () => {
    const nodes: PlanNode[] = [];

    const wish = { filter: { ...ANYTHING, ...filter }, position: null, limit: 25 };
    const { rows } = await browseAudit(explaining(nodes), wish);

    assert.equal(rows.length, 26);
    assert.ok(rowsRead(scansOf(nodes, "audit_log")) < 100);
  });
}
