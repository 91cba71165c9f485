import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { createKey, keyUsage, listKeys, lockAccounts, maskKey } from "#accounts";
import { operations, type Scope } from "#contract";
import { DatabaseUnavailable, NIL_ID, sql } from "#platform";
import { problemOf } from "../support/answers.ts";
import { startApi, type TestKey, twoNodes } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { manualClock } from "../support/manual-clock.ts";

const settings = {
  RATE_LIMIT_FAILED_AUTH: "100000",
  RATE_LIMIT_SENDS_BURST: "100000",
  RATE_LIMIT_READS_BURST: "100000",
};
const [one, two] = await twoNodes(settings);

const message = { recipient: "4915112345678", text: "Hello" };
const ID = "019a85c2-5b00-7abc-8def-0123456789a0";

/** Sends a valid request to every operation. */
function callAll(key: string | undefined, api = one, body: unknown = message) {
  return Object.entries(operations).map(async ([name, { method, path, scope }]) => {
    const answer = await api.inject({
      method,
      url: path.replace("{messageId}", ID),
      headers: {
        ...(key === undefined ? {} : { "x-api-key": key }),
        ...(method === "POST" ? { "content-type": "application/json" } : {}),
      },
      ...(method === "POST" ? { payload: JSON.stringify(body) } : {}),
    });
    return { name, scope, answer };
  });
}

async function newKey(accountId: string, options: { expiresAt?: Date; scopes?: Scope[] } = {}) {
  return one.createKey({ accountId, ...options });
}

test("every operation requires a key before it checks anything else", async () => {
  for (const { answer } of await Promise.all(callAll(undefined)))
    problemOf(answer, "API_KEY_MISSING");
  for (const { answer } of await Promise.all(callAll(undefined, one, "rubbish"))) {
    problemOf(answer, "API_KEY_MISSING");
  }
});

test("every operation refuses a malformed or unknown key", async () => {
  const wellFormed = "sms_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy0Tk9Tp";
  const wrong = [
    "",
    "x",
    "sms_",
    one.key.slice(0, -1),
    `${one.key}x`,
    one.key.toLowerCase(),
    ` ${"s".repeat(5_000)}`,
  ];
  for (const key of [wellFormed, ...wrong]) {
    for (const { answer } of await Promise.all(callAll(key))) problemOf(answer, "API_KEY_INVALID");
  }
});

test("a damaged key is refused without querying the database", async () => {
  await using lonely = await startApi({ settings });
  const damaged = `${lonely.key.slice(0, -1)}${lonely.key.endsWith("0") ? "1" : "0"}`;
  await lonely.db.query(sql`alter table keys rename to keys_hidden`);

  problemOf(await lonely.get("/v1/credits", { key: damaged }), "API_KEY_INVALID");
  problemOf(await lonely.get("/v1/credits", { key: "sms_rubbish" }), "API_KEY_INVALID");
  problemOf(await lonely.get("/v1/credits"), "INTERNAL");

  await lonely.db.query(sql`alter table keys_hidden rename to keys`);
});

test("a key without the scope gets 403, whatever is wrong with the request", async () => {
  for (const [own, lacking] of [
    ["messages:send", "messages:read"],
    ["messages:read", "messages:send"],
  ] as const) {
    const { key } = await newKey(one.accountId, { scopes: [own] });
    for (const body of [message, { wrong: true }, "rubbish"]) {
      for (const { scope, answer, name } of await Promise.all(callAll(key, one, body))) {
        if (scope === lacking) problemOf(answer, "API_KEY_SCOPE_DENIED");
        else assert.notEqual(answer.statusCode, 403, name);
      }
    }
  }
});

test("a 403 names the required scope", async () => {
  const reader = await newKey(one.accountId, { scopes: ["messages:read"] });

  const { details } = problemOf(await one.send(message, reader), "API_KEY_SCOPE_DENIED");

  assert.deepEqual(
    details.map((detail) => detail.message),
    ["This operation requires the scope messages:send, which the key does not have."],
  );
});

test("a 401 or 403 never reveals whether a message exists", async () => {
  const { messageId } = (await one.send(message)).json();
  const { key } = await newKey(one.accountId, { scopes: ["messages:send"] });
  const told = ({ body }: { body: string }) => body.replace(/"requestId":"[^"]+"/, "");
  for (const wrong of [key, "sms_x"]) {
    const there = await one.get(`/v1/messages/${messageId}`, { key: wrong });
    const nowhere = await one.get(`/v1/messages/${ID}`, { key: wrong });
    assert.equal(told(there), told(nowhere));
  }
});

test("every operation refuses an expired key and accepts it before its expiry", async () => {
  const now = Date.now();
  const old = await newKey(one.accountId, { expiresAt: new Date(now - 1) });
  const fresh = await newKey(one.accountId, { expiresAt: new Date(now + 3_600_000) });

  for (const { answer } of await Promise.all(callAll(old.key)))
    problemOf(answer, "API_KEY_EXPIRED");

  assert.equal((await one.send(message, fresh)).statusCode, 202);
});

test("a key that expires while cached by a node neither sends nor replays any more", async () => {
  const account = await one.createAccount(10);
  const key = await newKey(account.accountId, { expiresAt: new Date(Date.now() + 3_600_000) });
  const again = { ...key, headers: { "idempotency-key": "k" } };
  assert.equal((await one.send(message, again)).statusCode, 202);

  await one.db.query(sql`
    update keys set expires_at = clock_timestamp() where key_id = ${key.keyId}`);

  problemOf(await one.send(message, again), "API_KEY_EXPIRED");
  problemOf(await one.send(message, key), "API_KEY_EXPIRED");
  problemOf(await one.send({ wrong: true }, key), "API_KEY_EXPIRED");
  assert.equal((await one.get("/v1/credits", account)).json().balance, 9);
});

test("a revoked key is refused from the next request on, by every operation on every node", async () => {
  const account = await one.createAccount(10);
  const key = await newKey(account.accountId);
  for (const api of [one, two]) assert.equal((await api.send(message, key)).statusCode, 202);

  await one.revoke(key.keyId);

  for (const api of [one, two]) {
    for (const body of [message, { wrong: true }, "rubbish"]) {
      for (const { answer } of await Promise.all(callAll(key.key, api, body))) {
        problemOf(answer, "API_KEY_REVOKED");
      }
    }
  }
  assert.equal((await one.get("/v1/credits", account)).json().balance, 8);
});

test("several keys are valid at once, so one can replace another without a gap", async () => {
  const account = await one.createAccount(10);
  const successor = await newKey(account.accountId);

  assert.equal((await one.send(message, account)).statusCode, 202);
  assert.equal((await one.send(message, successor)).statusCode, 202);
  await one.revoke(account.keyId);

  assert.equal((await one.send(message, successor)).statusCode, 202);
  problemOf(await one.send(message, account), "API_KEY_REVOKED");
});

test("a new key works at once, even right after it was refused as unknown", async () => {
  const account = await one.createAccount(10);
  const made = await newKey(account.accountId);
  await one.db.query(sql`
    update keys set hash = sha256('elsewhere'::bytea || key_id::text::bytea) where key_id = ${made.keyId}`);
  problemOf(await one.send(message, made), "API_KEY_INVALID");

  await one.db.query(sql`
    update keys set hash = ${hash("sha256", made.key, "buffer")} where key_id = ${made.keyId}`);

  assert.equal((await one.send(message, made)).statusCode, 202);
});

test("requests waiting for the account's lock while their key is revoked are refused, on both nodes", async () => {
  const account = await one.createAccount(1_000);
  for (const api of [one, two]) assert.equal((await api.send(message, account)).statusCode, 202);

  // The real revocation, with its lock held so long that requests on both nodes wait behind it.
  const answers = await held(one.db, async (tx) => {
    await tx.query(sql`
      select from accounts where account_id = ${account.accountId} for no key update`);
    const waiting = Array.from({ length: 60 }, (_, n) =>
      (n % 2 ? one : two).send(message, account),
    );
    await somebodyWaits(one.db, 2);
    await tx.query(sql`
      update keys k set revoked_at = now(), revoked_seq = a.ledger_seq
        from accounts a where k.key_id = ${account.keyId} and a.account_id = k.account_id`);
    return waiting;
  });

  for (const answer of await Promise.all(answers)) {
    // Requests that wait for the lock too long are told to retry.
    problemOf(answer, answer.statusCode === 503 ? "UNAVAILABLE" : "API_KEY_REVOKED");
  }
  const stored = await one.db.query(sql`
    select from messages where account_id = ${account.accountId}`);
  assert.equal(stored.length, 2);
});

test("a cancel waiting for the account's lock while its key is revoked is refused and cancels nothing", async () => {
  const account = await one.createAccount(10);
  const { messageId } = (await one.send(message, account)).json();
  const other = await newKey(account.accountId);

  const canceling = await held(one.db, async (tx) => {
    await lockAccounts(tx, [account.accountId]);
    const asked = one.post(`/v1/messages/${messageId}/cancel`, undefined, account);
    await somebodyWaits(one.db);
    await tx.query(sql`update keys set revoked_at = now() where key_id = ${account.keyId}`);
    return { asked };
  });

  const refused = await canceling.asked;
  problemOf(refused, "API_KEY_REVOKED");
  assert.equal(refused.headers["ratelimit-limit"], undefined);
  const { status } = (await one.get(`/v1/messages/${messageId}`, other)).json();
  assert.equal(status, "QUEUED");
});

test("requests waiting for the account's lock while their key expires neither send nor cancel", async () => {
  const account = await one.createAccount(10);
  const { messageId } = (await one.send(message, account)).json();
  const cancel = () => one.post(`/v1/messages/${messageId}/cancel`, undefined, account);

  const { answers } = await held(one.db, async (tx) => {
    await lockAccounts(tx, [account.accountId]);
    const asked = [one.send(message, account), cancel()];
    await somebodyWaits(one.db, asked.length);
    await one.db.query(sql`
      update keys set expires_at = clock_timestamp() where key_id = ${account.keyId}`);
    return { answers: Promise.all(asked) };
  });

  for (const answer of await answers) problemOf(answer, "API_KEY_EXPIRED");
});

for (const [what, url] of [
  ["a preview", "/v1/messages/preview"],
  ["a cancel of a message that is not there", `/v1/messages/${NIL_ID}/cancel`],
] as const) {
  test(`${what} is refused if its body arrives after its key was revoked`, async () => {
    const account = await one.createAccount(10);
    const payload = new PassThrough();
    const headers = {
      "x-api-key": account.key,
      "content-type": "application/json",
      "transfer-encoding": "chunked",
    };

    const asked = one.inject({ method: "POST", url, headers, payload });
    await eventually("the key was judged by the headers", async () => {
      const taken = await one.db.query(sql`
        select from read_allowances where key_id = ${account.keyId}`);
      return taken.length > 0;
    });
    await one.revoke(account.keyId);
    payload.end(JSON.stringify(message));

    problemOf(await asked, "API_KEY_REVOKED");
  });
}

test("sends in progress while a key is revoked are accepted before that or refused, never after it", async () => {
  const account = await one.createAccount(1_000);
  let isAnswered = false;

  const before = Array.from({ length: 100 }, (_, n) => (n % 2 ? one : two).send(message, account));
  const revoked = one.revoke(account.keyId).then(() => (isAnswered = true));
  const racing = Array.from({ length: 100 }, (_, n) => (n % 2 ? one : two).send(message, account));
  await revoked;
  const late = await Promise.all(
    Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).send(message, account)),
  );

  assert.ok(isAnswered);
  for (const answer of late) problemOf(answer, "API_KEY_REVOKED");
  const answers = await Promise.all([...before, ...racing]);
  for (const answer of answers) {
    if (answer.statusCode !== 202) problemOf(answer, "API_KEY_REVOKED");
  }
  const wrong = await one.db.query(sql`
    select c.seq
      from messages m
      join keys k on k.key_id = m.key_id
      join ledger c on c.message_id = m.message_id and c.kind = 'charge'
     where m.account_id = ${account.accountId} and c.seq > k.revoked_seq`);
  assert.deepEqual(wrong, []);
});

test("only a key's hash and its first 8 characters are stored", async () => {
  const account = await one.createAccount(0);
  const [row] = await one.db.query<{ hash: Buffer; prefix: string; whole: string }>(sql`
    select hash, prefix, to_jsonb(k)::text as whole from keys k where key_id = ${account.keyId}`);

  assert.match(account.key, /^sms_[0-9A-Za-z]{36}$/);
  assert.ok(row);
  assert.deepEqual(row.hash, hash("sha256", account.key, "buffer"));
  assert.equal(row.prefix, account.key.slice(0, 8));
  assert.ok(!row.whole.includes(account.key.slice(8, 30)));
  assert.equal(maskKey(row.prefix), `${account.key.slice(0, 8)}••••••••`);
});

test("an account has at most 50 active keys, however many are requested at once", async () => {
  const account = await one.createAccount(0);
  const wish = {
    accountId: account.accountId,
    name: "k",
    scopes: ["messages:read"] as const,
    expiresAt: null,
    actor: "test",
    now: new Date(),
  };

  const made = await Promise.all(Array.from({ length: 60 }, () => createKey(one.db, wish)));

  assert.equal(made.filter(({ outcome }) => outcome === "created").length, 49);
  assert.equal(made.filter(({ outcome }) => outcome === "limit_reached").length, 11);
  await one.revoke(account.keyId);
  assert.equal((await createKey(one.db, wish)).outcome, "created");
  assert.equal((await createKey(one.db, wish)).outcome, "limit_reached");
});

test("a key's last use is recorded, also of one that is remembered, without a write per request", async () => {
  const account = await one.createAccount(10);
  const lastUsedAt = async () => (await listKeys(one.db, account.accountId))[0]?.last_used_at;
  // Its clock stands still, so that periodic writes are not made before the end.
  const clock = manualClock(new Date());
  const node = await startApi({ db: one.db, clock });
  await node.send(message, account);
  await node.get("/v1/credits", account);
  assert.equal(await lastUsedAt(), null);
  clock.advance(1_000);
  await node.send(message, account);

  await node[Symbol.asyncDispose]();

  assert.deepEqual(await lastUsedAt(), clock.now());
});

test("a key's first use is written with the next flush, later ones once a minute", async () => {
  const account = await one.createAccount(0);
  const clock = manualClock(new Date());
  const usage = keyUsage({ db: one.db, clock });
  const written = async () => {
    usage.note(account.keyId);
    await usage.flush();
    const [row] = await listKeys(one.db, account.accountId);
    return row?.last_used_at?.getTime() === clock.now().getTime();
  };

  const uses: boolean[] = [];
  for (const waitMs of [0, 30_000, 29_999, 1, 59_999]) {
    clock.advance(waitMs);
    uses.push(await written());
  }

  assert.deepEqual(uses, [true, false, false, true, false]);
});

test("a use that could not be written is written with the next flush, unless a later one replaced it", async () => {
  const [account, other] = [await one.createAccount(0), await one.createAccount(0)];
  const clock = manualClock(new Date());
  const first = clock.now();
  let meanwhile = () => {};
  const away = async (): Promise<never> => {
    meanwhile();
    throw new DatabaseUnavailable();
  };
  const db = { ...one.db, query: away };
  const usage = keyUsage({ db, clock });
  const lastUsedAt = async ({ accountId }: { accountId: string }) =>
    (await listKeys(one.db, accountId))[0]?.last_used_at;
  usage.note(account.keyId);
  usage.note(other.keyId);
  meanwhile = () => {
    clock.advance(1_000);
    usage.note(other.keyId);
  };

  await assert.rejects(usage.flush(), DatabaseUnavailable);
  Object.assign(db, { query: one.db.query });
  await usage.flush();

  assert.deepEqual([await lastUsedAt(account), await lastUsedAt(other)], [first, clock.now()]);
});

test("every key created and revoked is in the audit log, without the key", async () => {
  const account = await one.createAccount(0);
  await one.revoke(account.keyId);

  const log = await one.db.query<{ action: string; details: unknown }>(sql`
    select action, details from audit_log where object_id = ${account.keyId} order by audit_id`);

  assert.deepEqual(
    log.map(({ action }) => action),
    ["key.created", "key.revoked"],
  );
  assert.ok(!JSON.stringify(log).includes(account.key.slice(8)));
});

test("a key is accepted only in its header: not in the address, as a bearer token or as a cookie", async () => {
  const places = [
    { url: `/v1/credits?x-api-key=${one.key}`, headers: {} },
    { url: `/v1/credits?apiKey=${one.key}`, headers: {} },
    { url: "/v1/credits", headers: { authorization: `Bearer ${one.key}` } },
    { url: "/v1/credits", headers: { cookie: `x-api-key=${one.key}` } },
  ];
  for (const place of places) {
    problemOf(await one.inject({ method: "GET", ...place }), "API_KEY_MISSING");
  }
});

type AnyKey = Pick<TestKey, "key">;
test("the header's name may be in any case", async () => {
  const send = ({ key }: AnyKey, name: string) =>
    one.inject({ method: "GET", url: "/v1/credits", headers: { [name]: key } });
  for (const name of ["X-API-Key", "x-api-key", "X-Api-KEY"]) {
    assert.equal((await send(one, name)).statusCode, 200);
  }
});
