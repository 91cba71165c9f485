import assert from "node:assert/strict";
import { after, test } from "node:test";
import { leaseStranded, newMessageId, reassign, renewLeases, type Stranded } from "#messages";
import {
  type Database,
  newId,
  openDatabase,
  type Queryable,
  rawSql,
  silentLog,
  type Sql,
  sql,
  type Transaction,
  within,
} from "#platform";
import { acceptMessages } from "../../server/messages/accept.ts";
import type { ArrivedReceipt } from "../../server/sending/match-receipts.ts";
import { giveUpParked, takeParked } from "../../server/sending/parked-receipts.ts";
import { applyReceipts } from "../../server/sending/receipts.ts";
import { testDatabase } from "../support/postgres.ts";
import { unheard } from "../support/messages.ts";

/** How many rows wait, and how many of them one call handles. */
const WAITING = 4_000;
const BATCH = 20;
/** A call reads each row a few times: to lock it, to change it, and to see what waits behind it. */
const MOST_READS = 5 * BATCH;
/** Blocks of indexes: two or three per row that is read or written, in each of its indexes. */
const MOST_BLOCKS = 25 * BATCH;

/** The id in all of a carrier's answers, and the most submissions with one id that are examined. */
const SHARED_ID = "0";
const MOST_OF_ONE_ID = 1_000;

const TABLES = [
  "messages",
  "send_queue",
  "submissions",
  "events",
  "webhook_deliveries",
  "webhook_attempts",
  "idempotency",
  "parked_receipts",
];
/** These tables and their partitions. */
const OUR_TABLES = `^(${TABLES.join("|")})`;

const now = new Date();
const nowMs = now.getTime();
const [account, carrier, node] = [newId(nowMs), newId(nowMs), newId(nowMs)];
const ids = Array.from({ length: WAITING }, () => newMessageId(nowMs));
const batch = ids.slice(WAITING / 2, WAITING / 2 + BATCH);
const all = <Value>(value: Value) => batch.map(() => value);
const none = all(null);
const lease = sql`make_interval(secs => 30)`;

const move = sql`
  select from move_messages(${all(account)}::uuid[], ${batch}::uuid[], ${all("QUEUED")}::text[], ${all("SENT")}::text[],
    ${all(now)}::timestamptz[], ${none}::uuid[], ${none}::text[], ${none}::text[], ${all(Buffer.from("{}"))}::bytea[],
    ${all("7")}::bigint[], ${all(true)}::boolean[], ${lease})`;

function submitted(step: "sent" | "again"): Sql {
  return sql`
    select from record_submissions(${node}, ${batch}::uuid[], ${all(account)}::uuid[], ${all(1)}::integer[],
      ${all(1)}::smallint[], ${all(1)}::smallint[], ${all(false)}::boolean[], ${all(carrier)}::uuid[],
      ${all(now)}::timestamptz[], ${all("accepted")}::text[], ${none}::text[], ${none}::text[], ${none}::text[], ${none}::text[],
      ${none}::timestamptz[], ${none}::text[], ${none}::text[], ${all(step)}::text[], ${all(0)}::integer[],
      ${none}::uuid[])`;
}

function attempted(next: "ended" | "again"): Sql {
  return sql`
    select from record_attempts(${all(account)}::uuid[], ${batch}::uuid[], ${all(3)}::smallint[], ${all(1)}::smallint[],
      ${all(now)}::timestamptz[], ${none}::uuid[], ${all(0)}::smallint[], ${none}::smallint[], ${none}::text[],
      ${none}::text[], ${none}::real[], ${none}::real[], ${none}::real[], ${none}::real[], ${all(1)}::real[],
      ${none}::text[], ${none}::text[], ${none}::bytea[], ${all(1)}::integer[], ${all(next)}::text[], ${none}::text[],
      ${all(0)}::smallint[], ${all(0)}::float8[])`;
}

function claimed(isFirst: boolean): Sql {
  return sql`select from claim_deliveries(${["7"]}::bigint[], ${[BATCH]}::integer[], ${isFirst}, ${lease})`;
}

function repetition(id: string) {
  return {
    accountId: account,
    keyId: null,
    routingVersion: 1,
    idempotencyKey: id,
    fingerprint: Buffer.alloc(1),
    messages: [],
  };
}

function stranded(message_id: string): Stranded {
  const seen = { lease_epoch: 1, attempt: 1, is_lost: true, due_at: "" };
  return { message_id, account_id: account, ...seen };
}

function receipt(id: string): ArrivedReceipt {
  const said = {
    state: "DELIVRD",
    effect: "delivered",
    errorCode: null,
    carrierCode: null,
  } as const;
  const meant = { carrierId: carrier, carrierMessageIds: [id], recipient: null, raw: null };
  return { at: new Date(), receipt: { ...meant, ...said } };
}

type Call = (on: Transaction) => Promise<unknown>;

const received = {
  rules: () => ({ windowMs: 3_600_000, per: "segment" }) as const,
  listener: unheard,
  onNoted() {},
};

const calls: [string, Call, number?][] = [
  // First, while the table of parked receipts is still empty; later calls fill it.
  [
    "taking up receipts of submissions",
    (on) => {
      const recipient = "4915112345678";
      const wanted = batch.map((matchId) => ({ carrierId: carrier, matchId, recipient }));
      return takeParked(on, wanted, BATCH);
    },
  ],
  [
    "taking up receipts that now match",
    (on) => takeParked(on, { since: now, newest: BATCH }, BATCH),
  ],
  [
    "giving up receipts that match nothing",
    (on) =>
      giveUpParked(
        on,
        [{ carrierId: carrier, receiptRules: { ...received.rules(), parkedMs: 0 } }],
        BATCH,
      ),
  ],
  ["moving messages", (on) => on.query(move)],
  ["recording submissions", (on) => on.query(submitted("sent"))],
  ["recording repeated submissions", (on) => on.query(submitted("again"))],
  [
    "claiming messages",
    (on) =>
      on.query(
        sql`select from claim_sends(${carrier}, ${node}, ${lease}, ${BATCH}, ${"00000000-0000-0000-0000-000000000000"})`,
      ),
  ],
  ["renewing leases", (on) => renewLeases(within(on), { nodeId: node, messageIds: batch })],
  ["taking up stranded messages", (on) => leaseStranded(within(on), node, batch.map(stranded))],
  [
    "giving messages to another carrier",
    (on) =>
      reassign(
        within(on),
        batch.map((messageId) => ({ messageId, epoch: 1, to: node })),
      ),
  ],
  ["recording final webhook attempts", (on) => on.query(attempted("ended"))],
  ["recording webhook attempts to be repeated", (on) => on.query(attempted("again"))],
  ["looking for due deliveries", (on) => on.query(sql`select from due_lanes(0, ${BATCH})`)],
  [
    "finding the newest replay of a lane",
    (on) => on.query(sql`select from newest_replays(${["7"]}::bigint[])`),
  ],
  [
    "giving up deliveries to a dead host",
    (on) =>
      on.query(sql`select give_up_waiting(${["7"]}::bigint[], interval '24 hours', ${BATCH})`),
  ],
  ["claiming first deliveries", (on) => on.query(claimed(true))],
  ["claiming further deliveries", (on) => on.query(claimed(false))],
  ["applying receipts", (on) => applyReceipts(on, batch.map(receipt), received)],
  [
    "applying receipts whose id all messages share",
    (on) => applyReceipts(on, all(receipt(SHARED_ID)), received),
    MOST_OF_ONE_ID + MOST_READS,
  ],
  [
    "accepting messages",
    (on) =>
      acceptMessages(on, batch.map(repetition), {
        nodeId: node,
        sends: 1,
        sendsBurst: WAITING,
        isLeased: () => false,
      }),
  ],
];

const worlds = [
  { plans: "an empty one", db: await queueThatWas([]) },
  { plans: "a short one", db: await queueThatWas(batch) },
];

for (const { plans, db } of worlds) {
  for (const [what, call, most = MOST_READS] of calls) {
    test(`${what} reads no more of a long queue if it was planned for ${plans}`, async () => {
      const { rows, blocks } = await readsOf(db, call);
      assert.ok(rows > 0, "it found none of its rows");
      assert.ok(rows <= most, `${rows} rows were read for ${BATCH}`);
      assert.ok(blocks <= MOST_BLOCKS, `${blocks} blocks of indexes were read for ${BATCH}`);
    });
  }
}

/** One connection, as plans belong to it: they are made while only `first` were waiting. */
async function queueThatWas(first: string[]): Promise<Database> {
  const { url, ...base } = await testDatabase();
  const db = openDatabase({
    url,
    log: silentLog,
    maxConnections: 1,
    genericPlans: true,
    // Counting and filling take a while.
    statementTimeoutMs: 60_000,
  });
  after(async () => {
    await db.close();
    await base[Symbol.asyncDispose]();
  });
  await db.query(
    sql`insert into accounts (account_id, name, created_at) values (${account}, 'test', now())`,
  );
  await fill(db, first);
  await db.query(rawSql(`vacuum analyze ${TABLES.join(", ")}`));
  for (const [, call] of calls) await readsOf(db, call);
  await fill(
    db,
    ids.filter((id) => !first.includes(id)),
  );
  return db;
}

/** All recipients and times differ: among equal ones, even a useless index would seem to work. */
async function fill(db: Database, waiting: readonly string[]): Promise<void> {
  await db.query(sql`
    insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status, callback_url,
                          created_at, expires_at)
    select ${account}, id, '49' || abs(hashtext(id::text)), 'x', 'gsm7', 1, 1, 'QUEUED', 'https://example.com/', now(), now()
      from unnest(${waiting}::uuid[]) id`);
  await db.query(sql`
    insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at, leased_by, lease_epoch)
    select id, ${account}, ${carrier}, now() - n * interval '1 millisecond', now(), ${node}, 1
      from unnest(${waiting}::uuid[]) with ordinality u (id, n)`);
  await db.query(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at, attempts,
                                    leased_until, lease_epoch, replay_id)
    select id, 3, ${account}, case when n % 4 = 3 then 8 else 7 end, now(), now(), n % 2, now(), 1,
           -- A lane of replays, beside the one that has an old one.
           case when n % 4 = 3 or n = 50 then id end
      from unnest(${waiting}::uuid[]) with ordinality u (id, n)`);
  await db.query(sql`
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, match_id)
    select id, 1, turn, ${account}, ${carrier}, now(), 'accepted', case turn when 1 then id::text else ${SHARED_ID} end
      from unnest(${waiting}::uuid[]) id, generate_series(1, 2) turn`);
  await db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select id, ${carrier}, array[id::text], '{}', now() from unnest(${waiting}::uuid[]) id`);
  await db.query(sql`
    insert into idempotency (account_id, key, fingerprint, message_ids, created_at)
    select ${account}, id::text, '', '{}', now() from unnest(${waiting}::uuid[]) id`);
}

type Reads = { rows: number; blocks: number };

/** What the call reads of these tables and their indexes; its changes are rolled back. */
async function readsOf(db: Database, call: Call): Promise<Reads> {
  let reads = { rows: 0, blocks: 0 };
  const undo = new Error("undo");
  await db
    .transaction(async (tx) => {
      const before = await readsSoFar(tx);
      await call(tx);
      const after = await readsSoFar(tx);
      reads = { rows: after.rows - before.rows, blocks: after.blocks - before.blocks };
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return reads;
}

async function readsSoFar(on: Queryable): Promise<Reads> {
  const [sum] = await on.query<Reads>(sql`
    select (select sum(seq_tup_read + idx_tup_fetch)
              from pg_stat_xact_user_tables where relname ~ ${OUR_TABLES}) as rows,
           (select sum(pg_stat_get_xact_blocks_fetched(indexrelid))
              from pg_stat_user_indexes where relname ~ ${OUR_TABLES}) as blocks`);
  return sum as Reads;
}
