/**
 * What a page costs with ten messages and with ten million, as ratios within one run: the median
 * time of each kind of page, and of one message by id, on its own embedded PostgreSQL.
 * Usage: node bench/read.ts [--rows 10000000] [--pages 300]
 */
import { parseArgs } from "node:util";
import { type Database, rawSql, sql, systemClock } from "#platform";
import { browseMessages, type Filter, NO_MESSAGE_FILTER } from "../server/messages/browse.ts";
import { findMessage } from "../server/messages/read.ts";
import { fill } from "./fill.ts";
import { percentile } from "./percentile.ts";
import { inWorld, makeAccounts } from "./world.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000000" },
    pages: { type: "string", default: "300" },
  },
});
/** A disk with ample space for ten million rows may not hold much more. */
const MAX_ROWS = 20_000_000;
const rows = Math.min(Number(values.rows), MAX_ROWS);
const pages = Number(values.pages);
/** One page's worth, so that both states return pages of the same size. */
const FEW = 10;
const RECIPIENT = "4915100000007";
const REFERENCE = "order-7";

await inWorld(async (world) => {
  const db = world.openDatabase({ maxConnections: 2, statementTimeoutMs: 0 });
  const [{ accountId } = { accountId: "" }] = await makeAccounts(db, world, 1);

  await insertMessages(db, accountId, { first: 0, last: FEW - 1 });
  await db.query(rawSql("vacuum analyze messages"));
  const before = await measureAll(db, accountId);
  await fill(world, { first: FEW, last: rows - 1 }, (some) => insertMessages(db, accountId, some));
  const after = await measureAll(db, accountId);

  console.log(
    `median of ${pages} reads, with ${FEW} messages and with ${rows.toLocaleString("en")}:`,
  );
  for (const [name, few] of Object.entries(before)) {
    const many = after[name] ?? Number.NaN;
    console.log(
      `  ${name.padEnd(34)} ${few.toFixed(2)} ms  ${many.toFixed(2)} ms  ratio ${(many / few).toFixed(2)}`,
    );
  }
});

/** Spread over three months, 50,000 recipients and 20,000 references; one in a thousand failed. */
async function insertMessages(
  db: Database,
  accountId: string,
  { first, last }: { first: number; last: number },
): Promise<void> {
  await db.query(sql`
    insert into messages (account_id, message_id, recipient, sender, text, encoding, segments, credits,
                          status, reference, created_at, expires_at)
    select ${accountId}, (left(id_floor(at)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
           case when n < ${FEW} then ${RECIPIENT} else '49151' || lpad((n % 50000)::text, 8, '0') end, 'Posthorn', 'Your code is ' || n, 'gsm7', 1, 1,
           case when n % 1000 = 0 then 'FAILED' else 'DELIVERED' end, case when n < ${FEW} then ${REFERENCE} else 'order-' || n % 20000 end, at, at
      from generate_series(${first}::int, ${last}::int) n,
           lateral (select date_trunc('month', now()) - interval '1 month'
                           + (n / ${rows}::float8) * interval '3 months') as t (at)`);
}

async function measureAll(db: Database, accountId: string): Promise<Record<string, number>> {
  const ids = await someIds(db, accountId);
  const page =
    (filter: Partial<Filter>, beforeId: string | null = null) =>
    () =>
      browseMessages(db, {
        accountId,
        filter: { ...NO_MESSAGE_FILTER, ...filter },
        position: beforeId === null ? null : { direction: "older", id: beforeId },
        limit: FEW,
      });
  const kinds: Record<string, (n: number) => Promise<unknown>> = {
    "the first page": page({}),
    "a page behind a cursor": (n) => page({}, ids[n % ids.length])(),
    "a page of one recipient": page({ recipient: RECIPIENT }),
    "a page of one reference": page({ reference: REFERENCE }),
    "a page of one recipient and reference": page({ recipient: RECIPIENT, reference: REFERENCE }),
    "a page between two times": page({ createdAfter: new Date(0), createdBefore: new Date() }),
    "a page of a common status": page({ statuses: ["DELIVERED"] }),
    "a page of a rare status": page({ statuses: ["FAILED"] }),
    "one message by its id": (n) => findMessage(db, accountId, ids[n % ids.length] ?? ""),
  };
  const medians: Record<string, number> = {};
  for (const [name, read] of Object.entries(kinds)) medians[name] = await median(read);
  return medians;
}

/** From all over the table, so that no query profits from memory that another one warmed. */
async function someIds(db: Database, accountId: string): Promise<string[]> {
  const found = await db.query<{ message_id: string }>(sql`
    select message_id
      from messages tablesample bernoulli (${Math.min(100, (100 * 2_000) / rows)})
     where account_id = ${accountId}
     union
    (select message_id from messages where account_id = ${accountId} limit 5)`);
  return found.map(({ message_id }) => message_id);
}

async function median(read: (n: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < pages + 20; n += 1) {
    const startMs = systemClock.monotonicMs();
    await read(n);
    if (n >= 20) times.push(systemClock.monotonicMs() - startMs);
  }
  return percentile(times, 0.5);
}
