import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bookCredits } from "#credits";
import { createUser, passwords } from "#console";
import { createAccount, createKey, lockAccounts, revokeKey, rotateSigningSecret } from "#accounts";
import {
  acceptor,
  concatReferences,
  type MessageRow,
  moveMessages,
  routingTable,
  sendMessages,
} from "#messages";
import {
  createMetrics,
  newId,
  rawSql,
  secretBox,
  silentLog,
  type Sql,
  sql,
  systemClock,
  type Transaction,
} from "#platform";
import { audit, auditWithin, invariants } from "../../server/cli/audit/audit.ts";
import { explain } from "../support/plans.ts";
import { type TestDatabase, testDatabase } from "../support/postgres.ts";
import { unheard } from "../support/messages.ts";

const SIMULATOR = "01900000-0000-7000-8000-000000000001";
const clock = systemClock;

let db: TestDatabase;

before(async () => {
  db = await testDatabase();
  await fillWithGoodData(db);
});
after(() => db[Symbol.asyncDispose]());

test("a sound data set has no violation, and the audit reports how much it checked", async () => {
  const { checked, violations } = await audit(db, { isDrained: true });

  assert.deepEqual(violations, []);
  assert.partialDeepStrictEqual(checked, {
    accounts: 2,
    messages: 6,
    refunds: 2,
    events: 8,
    queued: 1,
  });
});

test("no statement can change an event", async () => {
  await assert.rejects(db.query(sql`update events set status = 'DELIVERED'`), /append-only/);
});

test("a message that a carrier accepted as a whole has one segment on record", async () => {
  const { violations } = await afterPlanting(`
    delete from submissions where segment = 2;
    update submissions set is_whole = true`);

  assert.deepEqual(violations, []);
});

test("messages may wait for a paused carrier, and a receipt for a submission that is still to come", async () => {
  const { violations } = await afterPlanting(`
    update carriers set paused = true;
    update send_queue set due_at = now() - interval '2 minutes';
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at, since)
    select gen_random_uuid(), carrier_id, array[match_id], '{}', now() - interval '2 minutes', at + interval '1 ms'
      from submissions where match_id is not null`);

  assert.deepEqual(violations, []);
});

test("a webhook may be given up by an attempt that began before its day was over and ended after it", async () => {
  const { violations } = await afterPlanting(`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, error_class, total_ms, ended)
    select d.account_id, d.message_id, d.sequence, 9, e.at + interval '24 hours' - interval '9 s', 0, 'timeout', 10000,
           'exhausted'
      from webhook_deliveries d join events e using (message_id, sequence);
    delete from webhook_deliveries`);

  assert.deepEqual(violations, []);
});

/** Changes that look wrong and are not. */
const allowed: Record<string, string> = {
  "a message of which only one segment has its receipt":
    "update submissions set receipt_effect = 'delivered' where segment = 2",
  "a segment handed over again after it was refused for now":
    "update submissions set outcome = 'refused_temporarily', in_doubt_at = null where in_doubt_at is not null",
  "a segment handed over again although it never left":
    "update submissions set outcome = 'unsent', in_doubt_at = null where in_doubt_at is not null",
  "a segment given to another carrier because the first one's alphabet could not hold it":
    "update submissions set outcome = 'refused', in_doubt_at = null where in_doubt_at is not null",
  "a segment submitted twice whose second receipt is still to come": `
    ${resent("undelivered")}`,
  "a webhook that has ended, and waits again because it was replayed": `
    ${attemptThatEnded("delivered", 0)};
    update webhook_deliveries set replay_id = gen_random_uuid()`,
  "a webhook given up at the end of its seven attempts": `
    ${attemptThatEnded("exhausted", 6)};
    delete from webhook_deliveries`,
  "a replay that was given up sooner": `
    ${attemptThatEnded("delivered", 0)};
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, replay_id, step, error_class, total_ms, ended)
    select account_id, message_id, sequence, 10, now(), gen_random_uuid(), 0, 'http_500', 0, 'exhausted' from webhook_deliveries;
    delete from webhook_deliveries`,
  "a webhook given up because it was interrupted time and again": `
    ${attemptThatEnded("exhausted", 3)};
    update webhook_attempts set error_class = 'interrupted';
    delete from webhook_deliveries`,
  "a secret that no longer signs, beside the two that do": `
    insert into signing_secrets select account_id, 0, sealed, created_at, now() - interval '1 day' from signing_secrets
     where version = 2`,
  "an operator made by the page of the first start, who owns the account": `
    update audit_log set action = 'setup.completed' where action = 'user.created';
    update memberships set role = 'owner'`,
  "a member whose role was changed, and changed back": recorded(
    ["member.role_changed", { before: "viewer", after: "owner" }],
    ["member.role_changed", { before: "owner", after: "viewer" }],
  ),
  "a member who left, and joined again": recorded(
    ["member.left", { role: "viewer" }],
    ["member.joined", { role: "viewer" }],
  ),
  "a member who was removed, and joined again": recorded(
    ["member.removed", { role: "viewer" }],
    ["member.joined", { role: "viewer" }],
  ),
  "an operator who was dismissed, and appointed again": recorded(
    ["user.operator_changed", { before: true, after: false }],
    ["user.operator_changed", { before: false, after: true }],
  ),
  "messages that ended before they expired": `
    update messages set expires_at = now() - interval '2 minutes' where status <> 'QUEUED'`,
  "a receipt that has just come": `
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select gen_random_uuid(), carrier_id, array[match_id], '{}', now() from submissions where match_id is not null`,
  "a receipt of a message that is not ours": `
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select gen_random_uuid(), carrier_id, array['foreign'], '{}', now() - interval '2 minutes' from submissions
     where match_id is not null`,
};

for (const [what, by] of Object.entries(allowed)) {
  test(`the audit has nothing against ${what}`, async () => {
    assert.deepEqual((await afterPlanting(by)).violations, []);
  });
}

test("revoked keys do not count towards the limit", async () => {
  const { violations } = await afterPlanting(`
    insert into keys (key_id, account_id, name, hash, prefix, scopes, created_at, created_by, revoked_at)
    select gen_random_uuid(), account_id, name, sha256(n::text::bytea), prefix, scopes, created_at, created_by, now()
      from (select * from keys limit 1) k cross join generate_series(1, 51) n`);

  assert.ok(
    violations.every(({ invariant }) => invariant === "I16"),
    "only their log is missing",
  );
});

test("webhooks whose attempts are no longer kept are not missed", async () => {
  const { violations } = await afterPlanting(`
    delete from webhook_deliveries;
    update events set at = at - interval '400 days'`);

  assert.ok(violations.every(({ invariant }) => invariant !== "I11"));
});

test("what is left to do counts only once load has stopped", async () => {
  const overdue = "update send_queue set due_at = now() - interval '2 minutes'";

  const { violations } = await afterPlanting(overdue, (tx) =>
    auditWithin(tx, { isDrained: false }),
  );

  assert.deepEqual(violations, []);
});

/** Adds entries about the only member to the audit log. */
function recorded(...entries: [string, object][]): string {
  const values = entries.map(([action, details]) => `('${action}', '${JSON.stringify(details)}')`);
  return `
    insert into audit_log (audit_id, at, account_id, actor, action, object_id, details)
    select gen_random_uuid(), now(), account_id, 'test', action, user_id::text, details::jsonb
      from memberships cross join (values ${values.join(", ")}) as entry (action, details)`;
}

/** Submits the long message's second segment once more, after a doubt; only the first has a receipt. */
function resent(effect: string): string {
  return `
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome)
    select message_id, segment, turn + 1, account_id, carrier_id, at, outcome from submissions where segment = 2;
    update submissions set in_doubt_at = at, receipt_effect = '${effect}' where segment = 2 and turn = 1`;
}

function attemptThatEnded(ended: string, step: number): string {
  return `insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, error_class, total_ms, ended)
          select account_id, message_id, sequence, 9, now(), ${step}, 'http_500', 0, '${ended}' from webhook_deliveries`;
}

/** Makes each balance of the ledger follow from the amounts before it. */
const CHAINED = `
  update ledger l set balance_after = (
    select sum(b.amount) from ledger b where b.account_id = l.account_id and b.seq <= l.seq)`;

const OLDEST = "(select message_id from messages order by message_id limit 1)";
const OTHER = "(select account_id from accounts where name = 'Other')";

/**
 * Changes that none of our code would make, by the invariant that they break. If the database
 * forbids one, a person with enough rights could still make it.
 */
const planted: Record<string, Record<string, string>> = {
  I1: {
    "a balance above its ledger": "update accounts set balance = balance + 1",
    "a counter ahead of its ledger": "update accounts set ledger_seq = ledger_seq + 1",
    "an entry numbered beyond its account's counter":
      "update ledger set seq = seq + 1 where seq = (select max(seq) from ledger)",
    "a balance below zero, as its ledger has it": `
      alter table accounts drop constraint balance_is_never_negative;
      update ledger set kind = 'adjustment', amount = amount - 1000 where seq = 1;
      update accounts set balance = balance - 1000 where name = 'Acme'`,
    "an entry of an unknown account": `update ledger set account_id = '${newId(1)}' where seq = 1`,
  },
  I2: {
    "a wrong balance in the chain":
      "update ledger set balance_after = balance_after + 1 where seq = 2",
    "a gap in the chain":
      "update ledger set seq = seq + 1 where seq = (select max(seq) from ledger)",
    "a balance below zero in a chain that adds up": `
      alter table ledger drop constraint ledger_never_goes_below_zero;
      update ledger set balance_after = balance_after - 1000;
      update ledger set kind = 'adjustment', amount = amount - 1000 where seq = 1`,
    "a charge without a message's name": `
      alter table ledger drop constraint charges_and_refunds_name_a_message;
      update ledger set message_id = null where kind = 'charge'`,
    "an entry of an unknown kind": `
      alter table ledger drop constraint ledger_kind_is_known;
      update ledger set kind = 'gift', actor = null where kind = 'topup'`,
    "a charge that adds": `
      alter table ledger drop constraint signs_fit_the_kind;
      update ledger set amount = 1 where kind = 'charge';
      ${CHAINED}`,
    "a refund that takes": `
      alter table ledger drop constraint signs_fit_the_kind;
      update ledger set amount = -1 where kind = 'refund';
      ${CHAINED}`,
    "a top-up without an actor":
      "alter table ledger drop constraint topups_and_adjustments_name_an_actor; update ledger set actor = null where kind = 'topup'",
  },
  I3: {
    "a charge below the price":
      "update messages set credits = credits + 1 where status = 'DELIVERED'",
    "a message without a charge":
      "delete from ledger where kind = 'charge' and seq = (select max(seq) from ledger where kind = 'charge')",
    "a charge on another account": `update ledger set account_id = ${OTHER} where message_id = ${OLDEST}`,
    "a charge without a message": "delete from messages where status = 'DELIVERED'",
    "a charge without the oldest message":
      "delete from messages where message_id = (select message_id from messages order by message_id limit 1)",
    "charges without any message": "delete from messages",
  },
  I4: {
    "a missing refund": "delete from ledger where kind = 'refund'",
    "a refund to another account": `update ledger set account_id = ${OTHER} where kind = 'refund'`,
    "a refund above the price": "update ledger set amount = amount + 1 where kind = 'refund'",
    "a refund of a delivered message": `insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
         select account_id, 1000, message_id, 'refund', credits, 0, now() from messages where status = 'DELIVERED'`,
  },
  I5: {
    "a gap in a history": "delete from events where sequence = 2 and status = 'SENT'",
    "a history that does not begin with 2":
      "update events set sequence = 3 where sequence = 2 and status = 'FAILED'",
    "a delivery after a failure": eventAfter("FAILED", "DELIVERED"),
    "a failure after a delivery": eventAfter("DELIVERED", "UNDELIVERED"),
    "an impossible change of status":
      "update events set status = 'DELIVERED' where sequence = 2 and status = 'FAILED'",
  },
  I6: {
    "a message behind its history":
      "update messages set status = 'SENT', sequence = 2, final_at = null where status = 'DELIVERED'",
    "a status other than that of its last event":
      "update messages set status = 'DELIVERED', error_code = null where status = 'UNDELIVERED'",
    "a message ahead of its history": "update messages set sequence = 2 where status = 'QUEUED'",
    "an event beyond its message's count": eventAfter("FAILED", "DELIVERED"),
    "an undelivered message without an error":
      "update messages set error_code = null where status = 'UNDELIVERED'",
    "a delivered message with an error":
      "update messages set error_code = 'UNKNOWN' where status = 'DELIVERED'",
    "a failure without an error": "update messages set error_code = null where status = 'FAILED'",
    "a time that differs from its event's":
      "update messages set final_at = final_at + interval '1 s' where status = 'DELIVERED'",
    "a sent message without its time": "update messages set sent_at = null where status = 'SENT'",
    "an event without a message": "delete from messages where status = 'FAILED'",
    "events without any message": "delete from messages",
  },
  I7: {
    "a QUEUED message missing from the queue": "delete from send_queue",
    "a place in the queue without a message": "delete from messages where status = 'QUEUED'",
    "a SENT message still in the queue": `insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at)
         select message_id, account_id, carrier_id, now(), expires_at from messages where status = 'SENT'`,
  },
  I8: {
    "a SENT message with a segment missing": "delete from submissions where segment = 2",
    "a SENT message with a segment refused":
      "update submissions set outcome = 'refused_temporarily' where segment = 2",
    "a delivered message that no carrier has accepted":
      "delete from submissions where message_id in (select message_id from messages where status = 'DELIVERED')",
    "a message still SENT although a segment was not delivered":
      "update submissions set receipt_effect = 'undelivered' where segment = 2",
    "a message still SENT although each segment was delivered, one of them twice submitted": `
      update submissions set receipt_effect = 'delivered' where segment = 1;
      ${resent("delivered")}`,
    "a message still SENT although its receipts have come":
      "update submissions set receipt_effect = 'delivered' where outcome = 'accepted'",
  },
  I9: {
    "a segment handed over twice without a doubt": `insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome)
         select message_id, segment, turn + 1, account_id, carrier_id, at, outcome from submissions where outcome = 'accepted'`,
    "a segment handed over again after it was refused for good": `
      update submissions set outcome = 'refused', carrier_code = '0x45', in_doubt_at = null
       where in_doubt_at is not null`,
    "a segment in doubt three times": `insert into submissions (message_id, segment, turn, account_id, carrier_id, at, in_doubt_at)
         select message_id, 1, n, account_id, carrier_id, now(), now()
           from messages cross join generate_series(10, 12) n where status = 'QUEUED'`,
  },
  I10: {
    "a body without a callback address": "update messages set callback_url = null",
    "an event without its body": `
      alter table events drop constraint body_and_address_go_together;
      update events set body = null`,
    "an event for another address than its message's":
      "update events set callback_url = callback_url || '/other'",
    "a body that tells of another status":
      "update events set body = decode(replace(encode(body, 'hex'), encode('SENT', 'hex'), encode('FAILED', 'hex')), 'hex')",
    "a body that names another recipient": "update messages set recipient = recipient || '0'",
  },
  I12: {
    "an idempotency key of another account": `update idempotency set account_id = ${OTHER}`,
    "a message with two idempotency keys":
      "insert into idempotency select account_id, key || ' again', fingerprint, message_ids, now() from idempotency",
  },
  I13: {
    "a message by an unknown key": `update messages set key_id = '${newId(1)}'`,
    "a message by a revoked key": "update keys set revoked_at = now(), revoked_seq = 0",
    "a message by an expired key": "update keys set expires_at = now() - interval '1 hour'",
    "a message by a key without the scope": "update keys set scopes = array['messages:read']",
    "a message by another account's key": `update keys set account_id = ${OTHER}`,
  },
  I11: {
    "a webhook missing from its queue": "delete from webhook_deliveries",
    "a webhook that has ended but still waits": attemptThatEnded("delivered", 0),
    "a webhook that ended twice": `
      ${attemptThatEnded("delivered", 0)};
      insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms, ended)
      select account_id, message_id, sequence, 10, now(), 0, 0, 'delivered' from webhook_deliveries;
      delete from webhook_deliveries`,
    "a webhook given up one attempt too early": `${attemptThatEnded("exhausted", 5)}; delete from webhook_deliveries`,
    "a webhook given up too early": `${attemptThatEnded("exhausted", 3)}; delete from webhook_deliveries`,
  },
  I14: Object.fromEntries(
    ["events", "submissions", "send_queue", "webhook_deliveries", "webhook_attempts"].map(
      (table) => [
        `a row of ${table} that crosses accounts`,
        `update ${table} set account_id = ${OTHER}`,
      ],
    ),
  ),
  I15: {
    "51 active keys": `insert into keys
         select gen_random_uuid(), account_id, name, sha256(n::text::bytea), prefix, scopes, created_at, created_by
           from (select * from keys limit 1) k cross join generate_series(1, 51) n`,
    "an account with three valid signing secrets": `
      insert into signing_secrets select account_id, 0, sealed, created_at, now() + interval '1 day' from signing_secrets
       where version = 2`,
    "an account whose signing secrets all end":
      "update signing_secrets set not_after = now() + interval '1 day'",
    "an account without a valid signing secret": "update signing_secrets set not_after = now()",
  },
  I16: {
    "a key created without an audit entry": "delete from audit_log where action = 'key.created'",
    "a key revoked without an audit entry": "delete from audit_log where action = 'key.revoked'",
    "a secret rotated without an audit entry":
      "delete from audit_log where action = 'secret.rotated'",
    "a role changed without an audit entry":
      "update memberships set role = 'owner' where role = 'viewer'",
    "a member added without an audit entry": `insert into memberships (account_id, user_id, role, joined_at)
         select ${OTHER}, user_id, 'viewer', now() from users limit 1`,
    "an operator appointed without an audit entry":
      "update users set is_operator = not is_operator",
    "credits adjusted without an audit entry": `
      update ledger set kind = 'adjustment' where kind = 'topup';
      delete from audit_log where action = 'credits.booked'`,
    "credits booked without an audit entry":
      "delete from audit_log where action = 'credits.booked'",
  },
  I17: {
    "a message overdue in the queue": "update send_queue set due_at = now() - interval '2 minutes'",
    "a message overdue at a carrier that is unknown":
      "update send_queue set carrier_id = gen_random_uuid(), due_at = now() - interval '2 minutes'",
    "a message QUEUED past its expiry":
      "update messages set expires_at = now() - interval '2 minutes' where status = 'QUEUED'",
    "a parked receipt that was never applied": `insert into parked_receipts
         select gen_random_uuid(), carrier_id, array[match_id], '{}', null, now() - interval '2 minutes'
           from submissions where match_id is not null`,
    "a webhook overdue in its queue":
      "update webhook_deliveries set next_at = now() - interval '2 minutes'",
  },
};

/** Adds an event after the one with a final status. */
function eventAfter(last: string, status: string): string {
  return `insert into events (message_id, sequence, account_id, status, at)
          select message_id, sequence + 1, account_id, '${status}', at from events where status = '${last}'`;
}

const provenRules = new Set<string>();

const plantedOnes = Object.entries(planted).flatMap(([breaks, changes]) =>
  Object.entries(changes).map(([what, by]) => ({ what, breaks, by })),
);

for (const { what, breaks, by } of plantedOnes) {
  test(`the audit finds ${what}`, async () => {
    const { violations } = await afterPlanting(by);

    for (const { rule } of violations) provenRules.add(rule);
    const broken = new Set(violations.map(({ invariant }) => invariant));
    assert.ok(broken.has(breaks), `found ${[...broken].join(", ") || "nothing"}`);
  });
}

test("every rule of the audit is broken by some change above", () => {
  const unproven = invariants.map(({ rule }) => rule).filter((rule) => !provenRules.has(rule));

  assert.deepEqual(unproven, []);
});

test("a rule scans each table once, even if all messages belong to one account", async () => {
  const compared: number[] = [];
  let calls: { name: string; calls: number }[] = [];
  await afterPlanting(MANY_OF_ONE_ACCOUNT, async (tx) => {
    const found = await auditWithin(explaining(tx, compared), { isDrained: true });
    calls = await tx.query(sql`
      select funcname as name, calls::integer from pg_stat_xact_user_functions where calls > 100`);
    return found;
  });

  assert.ok(Math.max(...compared) < MANY, `${Math.max(...compared)} pairs in vain`);
  assert.deepEqual(calls, []);
});

const MANY = 2000;
const ANOTHER_ID = "(left(o.message_id::text, 18) || right(gen_random_uuid()::text, 18))::uuid";
/** Planner statistics as in a service: for more rows than here, and per partition. */
const MANY_OF_ONE_ACCOUNT = `
  set local track_functions = 'all';
  insert into messages
    select (jsonb_populate_record(o, jsonb_build_object('message_id', ${ANOTHER_ID}))).*
      from messages o, generate_series(1, ${MANY})
     where o.message_id = (select message_id from messages order by message_id limit 1);
  insert into ledger
    select (jsonb_populate_record(o, jsonb_build_object('message_id', m.message_id, 'seq', m.n))).*
      from ledger o, (select message_id, 1000 + row_number() over () as n from messages) m
     where o.seq = (select seq from ledger where kind = 'charge' order by seq limit 1)
       and not exists (select from ledger l where l.message_id = m.message_id);
  insert into events
    select (jsonb_populate_record(o, jsonb_build_object('message_id', ${ANOTHER_ID}))).*
      from events o, generate_series(1, ${MANY})
     where o.body is not null and o.sequence = 2;
  analyze messages, ledger, events;
  delete from pg_statistic where starelid = 'messages'::regclass;
  update pg_class set reltuples = 3000 * reltuples where relname ~ '^(messages_2|ledger$)'`;

/** Runs statements, and records how many pairs of rows each join compared in vain. */
function explaining(tx: Transaction, compared: number[]): Transaction {
  return {
    ...tx,
    async query<Row extends object>(statement: Sql): Promise<Row[]> {
      if (statement.text.startsWith("set ")) return tx.query<Row>(statement);
      for (const node of await explain(tx, statement))
        compared.push((node["Rows Removed by Join Filter"] ?? 0) * node["Actual Loops"]);
      return [];
    },
  };
}

/** The audit after a change, which is then rolled back. */
async function afterPlanting(
  statements: string,
  run = (tx: Transaction) => auditWithin(tx, { isDrained: true }),
) {
  const taken = new Error("taken back");
  let found: Awaited<ReturnType<typeof auditWithin>> | undefined;
  await db
    .transaction(async (tx) => {
      await tx.query(rawSql("set local session_replication_role = replica"));
      for (const statement of statements.split(";")) await tx.query(rawSql(statement));
      found = await run(tx);
      throw taken;
    })
    .catch((error: unknown) => {
      if (error !== taken) throw error;
    });
  return found ?? assert.fail("the audit did not run");
}

/** One message in each state, made by the code that the service uses. */
async function fillWithGoodData(db: TestDatabase): Promise<void> {
  const now = clock.now();
  const secrets = secretBox(Buffer.alloc(32, 1));
  const actor = "test";
  const { accountId } = await createAccount(db, { name: "Acme", actor, now, secrets });
  await createAccount(db, { name: "Other", actor, now, secrets });
  const member = { email: "ada@example.com", password: "violet tram 88 ladder", accountId };
  const hashing = { ...passwords(), hash: () => Promise.resolve("") };
  await createUser(
    { db, passwords: hashing },
    { ...member, role: "viewer", isOperator: true, actor, now },
  );
  await bookCredits(db, { accountId, kind: "topup", amount: 100, note: "test", actor, now });
  const rotation = { overlapHours: 24, dropsPrevious: false };
  await rotateSigningSecret(db, { accountId, ...rotation, actor, now, secrets });
  const wish = { accountId, scopes: ["messages:send"] as const, expiresAt: null, actor, now };
  const used = await createKey(db, { ...wish, name: "used" });
  const dropped = await createKey(db, { ...wish, name: "dropped" });
  assert.ok(used.outcome === "created" && dropped.outcome === "created");
  await revokeKey(db, { keyId: dropped.keyId, actor, now });

  const send = sender(accountId, used.keyId);
  await send({ text: "waits" });
  const delivered = await send({ text: "arrives", callbackUrl: "http://127.0.0.1:9/hook" });
  const refused = await send({ text: "is refused" });
  const undelivered = await send({ text: "is in doubt" });
  const long = await send({ text: "a".repeat(200) });
  const rejected = await send({ text: "is rejected later" });
  // No message follows the revocation, so the key was good for all of them.
  await revokeKey(db, { keyId: used.keyId, actor, now: clock.now() });

  const handedOver = [delivered, undelivered, long, rejected];
  await db.transaction(async (tx) => {
    await submit(tx, undelivered, { turn: 1, inDoubt: true });
    await submit(tx, refused, { outcome: "refused" });
    for (const message of handedOver) {
      const turn = message === undelivered ? 2 : 1;
      for (let segment = 1; segment <= message.segments; segment += 1) {
        await submit(tx, message, { segment, turn, outcome: "accepted" });
      }
    }
  });
  await db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, total_ms)
    values (${accountId}, ${delivered.message_id}, 2, 1, ${now}, 0, 1)`);
  await move(handedOver, "QUEUED", { to: "SENT" });
  await move([delivered], "SENT", { to: "DELIVERED" });
  const error = { code: "UNKNOWN", carrierCode: "0x0B" } as const;
  await move([undelivered], "SENT", { to: "UNDELIVERED", error });
  await move([rejected], "SENT", { to: "FAILED", error });
  await move([refused], "QUEUED", { to: "FAILED", error });
}

function sender(accountId: string, keyId: string) {
  const limits = { sends: 1000, sendsBurst: 1000 };
  const settings = { nodeId: newId(1), ...limits };
  const metrics = createMetrics();
  const accept = acceptor({ db, clock, log: silentLog, metrics, settings, intake: undefined });
  const routing = routingTable(db);
  const judgeUrl = () => ({ allowed: true }) as const;
  const deps = {
    db,
    clock,
    accept,
    routing,
    judgeUrl,
    concatReference: concatReferences(),
    limits,
  };
  return async (body: { text: string; callbackUrl?: string }): Promise<MessageRow> => {
    const message = { recipient: "4915112345678", ...body };
    const wish = { body: message, idempotencyKey: body.text };
    const { rows } = await sendMessages(deps, { accountId, keyId }, wish);
    return rows[0] ?? assert.fail("nothing was accepted");
  };
}

type Handover = { segment?: number; turn?: number; outcome?: string; inDoubt?: boolean };

async function submit(tx: Transaction, message: MessageRow, handover: Handover): Promise<void> {
  const { segment = 1, turn = 1, outcome = null, inDoubt = false } = handover;
  const code = outcome === "refused" ? "0x45" : null;
  await tx.query(sql`
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, match_id, carrier_code, in_doubt_at)
    values (${message.message_id}, ${segment}, ${turn}, ${message.account_id}, ${SIMULATOR}, ${clock.now()}, ${outcome},
            ${outcome === "accepted" ? `${message.message_id}/${segment}` : null}, ${code}, ${inDoubt ? clock.now() : null})`);
}

type Step = Parameters<typeof moveMessages>[1][number];
type To = { to: "SENT" | "DELIVERED" } | Pick<Extract<Step, { error: unknown }>, "to" | "error">;

async function move(messages: MessageRow[], from: "QUEUED" | "SENT", to: To): Promise<void> {
  await db.transaction(async (tx) => {
    await lockAccounts(
      tx,
      messages.map(({ account_id }) => account_id),
    );
    const ids = messages.map(({ message_id }) => message_id);
    await tx.query(sql`delete from send_queue where message_id = any (${ids}::uuid[])`);
    const steps = messages.map((message): Step => ({
      accountId: message.account_id,
      messageId: message.message_id,
      recipient: message.recipient,
      callbackUrl: message.callback_url,
      from,
      at: clock.now(),
      ...to,
    }));
    await moveMessages(tx, steps, unheard);
  });
}
