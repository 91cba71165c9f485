import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { type Queryable, rawSql, type Sql, sql } from "#platform";
import { browseMessages, type Filter, NO_MESSAGE_FILTER } from "../../server/messages/browse.ts";
import { findMessage } from "../../server/messages/read.ts";
import { startApi } from "../support/api.ts";
import { explain, type Explained, nodesOf, type PlanNode, rowsRead } from "../support/plans.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());

const ROWS = 20_000;
/** Few enough for the statement timeout, however busy the machine is. */
const AT_ONCE = 2_000;

/** One account with most of the rows, over four months, beside another account. */
before(async () => {
  const other = await api.createAccount(0);
  for (let from = 1; from <= ROWS; from += AT_ONCE) {
    await api.db.query(sql`
      insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status,
                            reference, created_at, expires_at)
      select case when n % 10 = 0 then ${other.accountId}::uuid else ${api.accountId}::uuid end,
             (left(id_floor(at)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
             '49151' || lpad((n % 160)::text, 8, '0'), 'x', 'gsm7', 1, 1, 'SENT', 'ref ' || n % 100, at, at
        from generate_series(${from}::int, ${from + AT_ONCE - 1}::int) n,
             lateral (select date_trunc('month', now()) - interval '1 month'
                             + n * interval '3 months' / ${ROWS}::int) as t (at)`);
  }
  await api.db.query(rawSql("analyze messages"));
});

type Plans = { asRun: PlanNode[]; generic: PlanNode[] };

/** All nodes of the plans for reading a page: as executed, and the generic ones. */
async function plansOf(filter: Partial<Filter>, beforeId: string | null): Promise<Plans> {
  const plans: Plans = { asRun: [], generic: [] };
  const page = await browseMessages(explaining(plans), {
    accountId: api.accountId,
    filter: { ...NO_MESSAGE_FILTER, ...filter },
    position: beforeId === null ? null : { direction: "older", id: beforeId },
    limit: 25,
  });
  assert.equal(page.rows.length, 26);
  return plans;
}

/** Runs statements and records their plans. */
function explaining(plans: Plans): Queryable {
  return {
    async query<Row extends object>(statement: Sql): Promise<Row[]> {
      plans.asRun.push(...(await explain(api.db, statement)));
      plans.generic.push(...(await genericPlan(statement)));
      return api.db.query<Row>(statement);
    },
  };
}

/** A prepared statement may be planned once, before its values are known. */
async function genericPlan({ text }: Sql): Promise<PlanNode[]> {
  const client = new Client({ connectionString: api.db.url });
  await client.connect();
  const { rows } = await client.query<Explained>(`explain (generic_plan, format json) ${text}`);
  await client.end();
  return nodesOf(rows);
}

async function middle(): Promise<string> {
  const [row] = await api.db.query<{ message_id: string }>(sql`
    select message_id from messages where account_id = ${api.accountId} order by message_id offset ${ROWS / 2} limit 1`);
  return row?.message_id ?? "";
}

const pages: Record<string, () => Promise<Plans>> = {
  "the first page": () => plansOf({}, null),
  "a page behind a cursor": async () => plansOf({}, await middle()),
  "a page of one recipient": () => plansOf({ recipient: "4915100000007" }, null),
  "a page of one recipient behind a cursor": async () =>
    plansOf({ recipient: "4915100000007" }, await middle()),
  "a page of one reference": () => plansOf({ reference: "ref 7" }, null),
  "a page between two times": () =>
    plansOf({ createdAfter: new Date(0), createdBefore: new Date() }, null),
  "a page of a common status": () => plansOf({ statuses: ["SENT"] }, null),
};

for (const [name, read] of Object.entries(pages)) {
  test(`${name} is read in index order: no table is sorted or scanned`, async () => {
    const { asRun, generic } = await read();

    const kinds = new Set([...asRun, ...generic].map((node) => node["Node Type"]));
    for (const kind of ["Sort", "Incremental Sort", "Seq Scan", "Bitmap Heap Scan", "Hash"]) {
      assert.ok(!kinds.has(kind), `${kind} in ${[...kinds].join(", ")}`);
    }
    const scans = asRun.filter((node) => node["Node Type"].startsWith("Index"));
    const rows = rowsRead(scans);
    assert.ok(rows > 25);
    assert.ok(rows <= 26 + scans.length, `${rows} rows were read for a page of 25`);
  });
}

test("a single message is found by the primary key of its month", async () => {
  const plans: Plans = { asRun: [], generic: [] };

  const message = await findMessage(explaining(plans), api.accountId, await middle());

  assert.ok(message);
  const scans = plans.asRun.filter(
    (node) => /Scan/.test(node["Node Type"]) && node["Actual Loops"] > 0,
  );
  assert.deepEqual(
    scans.map((node) => [node["Node Type"], node["Actual Rows"]]),
    [
      ["Function Scan", 1],
      ["Index Scan", 1],
    ],
  );
});
