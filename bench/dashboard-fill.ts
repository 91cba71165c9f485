import { hostKeyOf } from "#messages";
import { type Database, rawSql, sql } from "#platform";
import { fill } from "./fill.ts";
import type { World } from "./world.ts";

export type Filled = { accountId: string; keyId: string; userId: string };

type Filling = Filled & { rows: number; until: Date; seq: number; balance: number };

/** Webhook attempts are kept for a month: nothing filled in is dropped during the measurement. */
const DAYS = 29;
const HOSTS = 20;
const AUDITED = 100_000;
const OTHERS = 1_000;
/** What waits when a campaign is scheduled and a receiver is down. */
const BACKLOG = { messages: 100_000, webhooks: 20_000 };
const SIMULATOR = "01900000-0000-7000-8000-000000000001";

/** The partitions that a service would have created over time; run this before it starts. */
export async function makePast(db: Database): Promise<void> {
  await db.query(sql`
    select make_partitions(parent, now() - make_interval(days => ${DAYS}))
      from unnest(array['messages', 'events', 'submissions']) parent`);
  await db.query(sql`
    select keep_attempt_partitions(day, interval '60 days')
      from generate_series(now() - make_interval(days => ${DAYS}), now(), interval '1 day') day`);
}

/**
 * A month of one account: messages with their events, submissions, ledger entries and webhook
 * attempts, the statistics of two months, the backlog of a bad day, and a long audit log.
 */
export async function fillAccount(
  world: World,
  db: Database,
  { rows, ...filled }: Filled & { rows: number },
): Promise<void> {
  const [account = { seq: 0, balance: 0 }] = await db.query<{ seq: number; balance: number }>(sql`
    select ledger_seq as seq, balance from accounts where account_id = ${filled.accountId}`);
  const filling = { ...filled, ...account, rows, until: new Date() };
  await insertAudit(db, filled);
  await insertOthers(db);
  await fill(world, { first: 0, last: rows - 1 }, (some) => insertMessages(db, filling, some));
  const refunds = Math.ceil(rows / 1_000);
  await db.query(sql`
    update accounts
       set ledger_seq = ledger_seq + ${rows + refunds}, balance = balance - ${rows - refunds}
     where account_id = ${filled.accountId}`);
  await insertHosts(db, filled);
  await insertBacklog(db, filled);
  await rollUp(db, filled);
  await db.query(rawSql("vacuum analyze"));
}

/**
 * Spread evenly over the month, with 50,000 recipients and 20,000 references. One in a thousand
 * failed and was refunded, one in a hundred was undelivered, one in ten has a receiver, and one in
 * a hundred of those was down. Latencies are spread over the classes from 0.4 to 22 seconds.
 */
async function insertMessages(
  db: Database,
  { accountId, keyId, rows, until, seq, balance }: Filling,
  { first, last }: { first: number; last: number },
): Promise<void> {
  await db.query(sql`
    with made as materialized (
      select n, at, (left(id_floor(at)::text, 24) || lpad(to_hex(n), 11, '0') || '0')::uuid as id,
             '49151' || lpad((n % 50000)::text, 8, '0') as recipient,
             case when n % 1000 = 0 then 'FAILED' when n % 100 = 50 then 'UNDELIVERED' else 'DELIVERED' end as status,
             case when n % 1000 = 0 then 'REJECTED_BY_CARRIER' when n % 100 = 50 then 'RECIPIENT_UNREACHABLE' end as error,
             case when n % 10 = 0 then 'https://host-' || n / 10 % ${HOSTS} || '.example.com/sms' end as callback_url,
             at + interval '0.1 s' as sent_at,
             at + exp(6 + 4 * (n::bigint * 618034 % 1000000) / 1e6) * interval '1 ms' as final_at
        from generate_series(${first}::int, ${last}::int) n,
             lateral (select ${until}::timestamptz - make_interval(days => ${DAYS}) * (1 - n / ${rows}::float8)) as t (at)
    ), stored as (
      insert into messages (account_id, message_id, key_id, recipient, sender, text, encoding, segments, credits, status,
                            sequence, reference, callback_url, carrier_id, error_code, created_at, expires_at, sent_at, final_at)
      select ${accountId}, id, ${keyId}, recipient, 'Posthorn', 'Your code is ' || n || '. It is valid for ten minutes.',
             'gsm7', 1, 1, status, case status when 'FAILED' then 2 else 3 end, 'order-' || n % 20000, callback_url,
             ${SIMULATOR}, error, at, at + interval '1 day', case when status <> 'FAILED' then sent_at end, final_at
        from made
    ), booked as (
      insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
      select ${accountId}, ${seq}::bigint + 1 + n + (n + 999) / 1000 + b.later, id, b.kind, b.amount,
             ${balance}::bigint - 1 - n + (n + 999) / 1000 + b.later, case b.kind when 'charge' then at else final_at end
        from made, (values ('charge', -1, 0), ('refund', 1, 1)) as b (kind, amount, later)
       where b.kind = 'charge' or status = 'FAILED'
    ), handed as (
      insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, carrier_message_id, match_id, receipt_effect)
      select id, 1, 1, ${accountId}, ${SIMULATOR}, sent_at, case status when 'FAILED' then 'refused' else 'accepted' end,
             left(id::text, 18) || n, left(id::text, 18) || n, lower(status)
        from made
    ), happened as materialized (
      select m.n, m.id, m.recipient, m.callback_url, e.sequence, e.status, e.at
        from made m,
             lateral (values (2, 'SENT', m.sent_at), (case m.status when 'FAILED' then 2 else 3 end, m.status, m.final_at))
               as e (sequence, status, at)
       where m.status <> 'FAILED' or e.status = 'FAILED'
    ), told as (
      insert into events (message_id, sequence, account_id, status, at, callback_url, body)
      select id, sequence, ${accountId}, status, at, callback_url,
             case when callback_url is not null
                  then convert_to(json_build_object('event', 'message.' || lower(status), 'messageId', id,
                                                    'recipient', recipient, 'status', status)::text, 'UTF8')
             end
        from happened
    )
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, http_status, error_class, error,
                                  connect_ms, first_byte_ms, total_ms, address, ended)
    select ${accountId}, id, sequence, a, at + interval '50 ms' + (a - 1) * interval '1 minute', a - 1,
           case when is_down then 503 else 200 end, case when is_down then 'http_503' end,
           case when is_down then 'The receiver answered 503.' end, 2, 30, 31, '203.0.113.7',
           case when not is_down then 'delivered' when a = attempts then 'exhausted' end
      from happened,
           lateral (select n % 1000 = 500 and sequence = 3) as d (is_down),
           lateral (select case when is_down then 7 else 1 end) as t (attempts),
           lateral generate_series(1, attempts) a
     where callback_url is not null`);
}

/** One person who changes much; one entry in a thousand is of another kind. */
async function insertAudit(db: Database, { accountId, userId }: Filled): Promise<void> {
  await db.query(sql`
    insert into audit_log (audit_id, at, account_id, actor, action, object_id, details, address, request_id)
    select (left(id_floor(at)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, at, ${accountId}, 'user:' || ${userId},
           case when n % 1000 = 0 then 'carrier.paused' else 'message.sent' end, n % 5000, '{"count": 1}', '203.0.113.7', 'req-' || n
      from generate_series(1, ${AUDITED}::int) n,
           lateral (select now() - make_interval(days => 365) * (1 - n / ${AUDITED}::float8)) as t (at)`);
}

async function insertOthers(db: Database): Promise<void> {
  await db.query(sql`
    insert into accounts (account_id, name, created_at)
    select (left(id_floor(now() - n * interval '1 hour')::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'Customer ' || n, now()
      from generate_series(1, ${OTHERS}::int) n`);
  await db.query(sql`
    insert into users (user_id, email, name, password, created_at)
    select (left(id_floor(now() - n * interval '1 hour')::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
           'customer' || n || '@example.com', 'Customer ' || n, '', now()
      from generate_series(1, ${OTHERS}::int) n`);
}

async function insertHosts(db: Database, { accountId }: Filled): Promise<void> {
  const origins = Array.from({ length: HOSTS }, (_, n) => `https://host-${n}.example.com`);
  const keys = origins.map((origin) => hostKeyOf(accountId, origin).toString());
  await db.query(sql`
    with host as (
      select * from unnest(${keys}::bigint[], ${origins}::text[]) as h (host_key, origin)
    ), hours as (
      insert into webhook_host_hours (account_id, host_key, hour, ok, failed)
      select ${accountId}, host_key, date_trunc('hour', now()) - n * interval '1 hour', 100, 1 from host, generate_series(0, 23) n
    )
    insert into webhook_hosts (account_id, host_key, origin, health, since, p95_ms, last_at, last_ok_at)
    select ${accountId}, host_key, origin, 'proven', now(), 31, now(), now() from host`);
}

/** Due tomorrow, so that nothing of it moves during the measurement. */
async function insertBacklog(db: Database, { accountId }: Filled): Promise<void> {
  await db.query(sql`
    insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at)
    select message_id, account_id, ${SIMULATOR}, now() + interval '1 day', now() + interval '2 days'
      from messages
     where account_id = ${accountId}
     order by message_id desc
     limit ${BACKLOG.messages}`);
  await db.query(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, attempts, step, created_at, next_at)
    select message_id, sequence, account_id, ${hostKeyOf(accountId, "https://host-0.example.com").toString()}::bigint, 1, 1, at,
           now() + interval '1 day'
      from events
     where callback_url is not null
     order by message_id desc, sequence desc
     limit ${BACKLOG.webhooks}`);
}

/** The sums that folding would have left, and those of the month before, without its messages. */
async function rollUp(db: Database, { accountId }: Filled): Promise<void> {
  const widths = sql`(values (1::smallint), (15::smallint)) as w (width)`;
  const startOf = (column: "m.created_at" | "m.final_at" | "m.at") =>
    sql`date_bin(make_interval(mins => w.width), ${rawSql(column)}, 'epoch')`;
  const kept = (column: "m.created_at" | "m.at") =>
    sql`m.account_id = ${accountId} and (w.width = 15 or ${rawSql(column)} > now() - interval '48 hours')`;
  await db.query(sql`
    insert into stat_spans (account_id, width, start, queued, sent, delivered, undelivered, failed, charged, refunded,
                            webhooks_delivered, webhooks_exhausted, webhooks_failed)
    select ${accountId}, w.width, ${startOf("m.created_at")}, 0, 0, count(*) filter (where m.status = 'DELIVERED'),
           count(*) filter (where m.status = 'UNDELIVERED'), count(*) filter (where m.status = 'FAILED'), sum(m.credits),
           coalesce(sum(m.credits) filter (where m.status = 'FAILED'), 0), 0, 0, 0
      from messages m, ${widths}
     where ${kept("m.created_at")}
     group by 2, 3`);
  await db.query(sql`
    update stat_spans s
       set webhooks_delivered = a.delivered, webhooks_exhausted = a.exhausted, webhooks_failed = a.failed
      from (select w.width, ${startOf("m.at")} as start, count(*) filter (where m.ended = 'delivered') as delivered,
                   count(*) filter (where m.ended = 'exhausted') as exhausted,
                   count(*) filter (where m.error_class is not null) as failed
              from webhook_attempts m, ${widths}
             where ${kept("m.at")}
             group by 1, 2) a
     where s.account_id = ${accountId} and s.width = a.width and s.start = a.start`);
  await db.query(sql`
    insert into stat_errors (account_id, width, start, code, count)
    select ${accountId}, w.width, ${startOf("m.created_at")}, m.error_code, count(*)
      from messages m, ${widths}
     where ${kept("m.created_at")} and m.error_code is not null
     group by 2, 3, 4`);
  await db.query(sql`
    insert into stat_latencies (account_id, width, start, class, count)
    select ${accountId}, w.width, ${startOf("m.created_at")}, latency_class(m.final_at - m.created_at), count(*)
      from messages m, ${widths}
     where ${kept("m.created_at")} and m.status = 'DELIVERED'
     group by 2, 3, 4`);
  for (const [table, columns] of Object.entries(ROLLED_UP)) {
    await db.query(
      rawSql(`
        insert into ${table} (account_id, width, start, ${columns})
        select account_id, width, start - interval '${DAYS} days', ${columns} from ${table} where width = 15
            on conflict do nothing`),
    );
  }
}

const ROLLED_UP = {
  stat_spans:
    "queued, sent, delivered, undelivered, failed, charged, refunded, webhooks_delivered, webhooks_exhausted, webhooks_failed",
  stat_errors: "code, count",
  stat_latencies: "class, count",
};
