import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "#platform";
import { problemOf } from "../support/answers.ts";
import { startApi, type TestKey } from "../support/api.ts";
import { manualClock } from "../support/manual-clock.ts";

const settings = {
  RATE_LIMIT_SENDS: "2",
  RATE_LIMIT_SENDS_BURST: "40",
  RATE_LIMIT_READS: "2",
  RATE_LIMIT_READS_BURST: "30",
  RATE_LIMIT_FAILED_AUTH: "20",
};
const clock = manualClock(new Date());
const one = await startApi({ settings, clock });
const two = await startApi({ db: one.db, settings, clock });
after(async () => {
  await two[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
});

const message = { recipient: "4915112345678", text: "Hello" };
const node = (n: number) => (n % 2 === 0 ? one : two);
type Answer = Awaited<ReturnType<typeof one.send>>;

function limitsOf({ headers }: Answer) {
  const values = ["limit", "remaining", "reset"].map((name) => headers[`ratelimit-${name}`]);
  for (const value of values) assert.match(String(value), /^\d+$/);
  const [limit, remaining, reset] = values.map(Number);
  return { limit, remaining, reset };
}

/** The time in seconds, by the clock that refills allowances. */
async function databaseSeconds(): Promise<number> {
  const [row] = await one.db.query<{ now: number }>(sql`
    select extract(epoch from clock_timestamp()) as now`);
  return row?.now ?? Number.NaN;
}

/** Sets both refill times in the future, so that nothing is refilled before the next request. */
async function stopGrowth({ accountId, keyId }: TestKey): Promise<void> {
  await one.db.query(sql`
    update accounts set send_tokens_at = clock_timestamp() + interval '1 hour'
     where account_id = ${accountId}`);
  await one.db.query(sql`
    update read_allowances set tokens_at = clock_timestamp() + interval '1 hour'
     where key_id = ${keyId}`);
}

/** Checks that exactly a burst passes, plus what was refilled meanwhile. */
async function passExactly(burst: number, rate: number, run: (n: number) => Promise<Answer>) {
  const from = await databaseSeconds();
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => run(n)));
  const grown = rate * ((await databaseSeconds()) - from);
  const passed = answers.filter(({ statusCode }) => statusCode < 300).length;
  for (const answer of answers.filter(({ statusCode }) => statusCode >= 300)) {
    problemOf(answer, "RATE_LIMITED");
    assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/);
    const { limit, remaining } = limitsOf(answer);
    assert.equal(limit, rate);
    assert.equal(remaining, 0);
  }
  assert.ok(passed >= burst, `${passed} of ${burst} passed`);
  assert.ok(passed <= burst + grown, `${passed} passed, ${burst} and ${grown} were allowed`);
}

test("200 connections of one busy account get exactly what its allowance has", async () => {
  const account = await one.createAccount(100_000);
  const url = `${await one.service.app.listen({ host: "127.0.0.1", port: 0 })}/v1/messages`;
  const headers = { "x-api-key": account.key, "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(message) };
  const from = await databaseSeconds();

  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const answer = await fetch(url, request);
      await answer.arrayBuffer();
      return answer.status;
    }),
  );

  const grown = 2 * ((await databaseSeconds()) - from);
  const count = (status: number) => statuses.filter((each) => each === status).length;
  assert.ok(count(202) >= 40 && count(202) <= 40 + grown, `${count(202)} were accepted`);
  assert.equal(count(202) + count(429), 200);
  const [row] = await one.db.query(sql`
    select balance, (select sum(amount) from ledger l where l.account_id = a.account_id) as sum
      from accounts a where account_id = ${account.accountId}`);
  assert.deepEqual(row, { balance: 100_000 - count(202), sum: 100_000 - count(202) });
});

test("an account's sends are limited exactly, across two nodes and all its keys", async () => {
  const account = await one.createAccount(1_000);
  const keys = [account, await one.createKey({ accountId: account.accountId })];

  await passExactly(40, 2, (n) => node(n).send(message, keys[(n >> 1) % 2]));

  const stranger = await one.createAccount(10);
  assert.equal(
    (await one.send(message, stranger)).statusCode,
    202,
    "another account is not held up",
  );
});

test("a rate refusal shows what remained at the time it was decided", async () => {
  const fast = { ...settings, RATE_LIMIT_SENDS: "1000", RATE_LIMIT_SENDS_BURST: "1" };
  await using api = await startApi({ db: one.db, settings: fast, clock });
  const account = await one.createAccount(1_000);
  await api.send(message, account);

  const answers = await Promise.all(Array.from({ length: 20 }, () => api.send(message, account)));

  const refused = answers.filter(({ statusCode }) => statusCode === 429);
  assert.ok(refused.length > 0);
  assert.deepEqual([...new Set(refused.map((answer) => limitsOf(answer).remaining))], [0]);
});

test("a key's reads are limited exactly, across two nodes; another key has its own limit", async () => {
  const account = await one.createAccount(0);
  const other = await one.createKey({ accountId: account.accountId });

  await passExactly(30, 2, (n) => node(n).get("/v1/credits", account));

  assert.equal((await one.get("/v1/credits", other)).statusCode, 200);
});

test("reads do not use up the allowance of sends, nor sends that of reads", async () => {
  const account = await one.createAccount(1_000);
  await Promise.all(Array.from({ length: 30 }, () => one.get("/v1/credits", account)));
  await one.db.query(sql`update read_allowances set tokens = 0 where key_id = ${account.keyId}`);
  await stopGrowth(account);
  problemOf(await one.get("/v1/messages", account), "RATE_LIMITED");

  const answer = await one.send(message, account);

  assert.equal(answer.statusCode, 202);
  assert.deepEqual(limitsOf(answer), { limit: 2, remaining: 39, reset: 1 });
});

test("the headers show the rate, what may be sent at once now, and when it is full again", async () => {
  const account = await one.createAccount(1_000);

  const answers = [];
  for (let n = 0; n < 10; n += 1) answers.push(limitsOf(await one.send(message, account)));

  assert.deepEqual(answers[0], { limit: 2, remaining: 39, reset: 1 });
  for (const [n, { limit, remaining, reset }] of answers.entries()) {
    assert.equal(limit, 2);
    assert.ok(Number(remaining) >= 39 - n && Number(remaining) <= 40);
    const missing = 40 - Number(remaining);
    assert.ok(
      Number(reset) >= Math.ceil((missing - 1) / 2) && Number(reset) <= Math.ceil(missing / 2),
    );
  }
});

test("a client that waits Retry-After seconds is accepted", async () => {
  const account = await one.createAccount(1_000);
  const batch = (count: number) =>
    one.post(
      "/v1/messages/batch",
      { messages: Array.from({ length: count }, () => message) },
      account,
    );
  await batch(40);
  await one.db.query(sql`
    update accounts set send_tokens = 0 where account_id = ${account.accountId}`);
  await stopGrowth(account);
  const refused = await batch(20);
  problemOf(refused, "RATE_LIMITED");
  const seconds = Number(refused.headers["retry-after"]);
  assert.equal(seconds, 10);

  await one.db.query(sql`
    update accounts set send_tokens_at = send_tokens_at - make_interval(secs => ${seconds})
     where account_id = ${account.accountId}`);

  assert.equal((await batch(20)).statusCode, 202);
});

test("a refusal names the limit that was reached, and its numbers", async () => {
  const account = await one.createAccount(1_000);
  await Promise.all([one.send(message, account), one.get("/v1/credits", account)]);
  await one.db.query(sql`
    update accounts set send_tokens = 3 where account_id = ${account.accountId}`);
  await one.db.query(sql`update read_allowances set tokens = 0 where key_id = ${account.keyId}`);
  await stopGrowth(account);
  const messages = Array.from({ length: 7 }, () => message);
  const said = (answer: Answer) => problemOf(answer, "RATE_LIMITED").details;
  const limited = (limit: string) => [{ field: null, code: "RATE_LIMITED", message: limit }];

  const sends = await one.post("/v1/messages/batch", { messages }, account);
  const reads = await one.get("/v1/credits", account);

  assert.deepEqual(
    said(sends),
    limited(
      "Sends of the account are limited to 2 a second and 40 at once: 3 can go now, but the request has 7.",
    ),
  );
  assert.deepEqual(
    said(reads),
    limited("Reads of the key are limited to 2 a second and 30 at once."),
  );
});

test("a batch larger than the whole allowance passes if that is full, and leaves a debt", async () => {
  const account = await one.createAccount(1_000);
  const messages = Array.from({ length: 60 }, () => message);

  const first = await one.post("/v1/messages/batch", { messages }, account);
  await stopGrowth(account);
  const next = await one.send(message, account);

  assert.equal(first.statusCode, 202);
  assert.equal(limitsOf(first).remaining, 0);
  problemOf(next, "RATE_LIMITED");
  assert.equal(next.headers["retry-after"], "11", "the debt is paid first");
});

test("an allowance of reads is never refilled twice for the same time: its clock does not go back", async () => {
  const account = await one.createAccount(1_000);
  await one.get("/v1/credits", account);
  await one.db.query(sql`
    update read_allowances set tokens = 5, tokens_at = clock_timestamp() + interval '9 seconds'
     where key_id = ${account.keyId}`);

  assert.equal(limitsOf(await one.get("/v1/credits", account)).remaining, 4);

  const [row] = await one.db.query(sql`
    select tokens_at > clock_timestamp() as is_ahead from read_allowances where key_id = ${account.keyId}`);
  assert.deepEqual(row, { is_ahead: true });
});

for (const tokens of [0, 1])
  test(`an allowance with ${tokens} left refills at its usual rate after the database's clock was set back`, async () => {
    const account = await one.createAccount(1_000);
    const ask = async () => [
      await one.send(message, account),
      await one.get("/v1/credits", account),
    ];
    /** Shifts the stored times of both allowances, as if time had passed. */
    const shift = async (seconds: number) => {
      await one.db.query(sql`
        update accounts set send_tokens_at = send_tokens_at + make_interval(secs => ${seconds})
         where account_id = ${account.accountId}`);
      await one.db.query(sql`
        update read_allowances set tokens_at = tokens_at + make_interval(secs => ${seconds})
         where key_id = ${account.keyId}`);
    };
    await ask();
    await one.db.query(sql`
      update accounts set send_tokens = ${tokens} where account_id = ${account.accountId}`);
    await one.db.query(sql`
      update read_allowances set tokens = ${tokens} where key_id = ${account.keyId}`);
    await shift(3_600);

    for (const answer of await ask()) {
      assert.equal(limitsOf(answer).remaining, 0, "a time to come fills nothing");
      assert.equal(answer.headers["retry-after"], tokens > 0 ? undefined : "1");
    }
    await shift(-1);

    for (const answer of await ask()) assert.ok(answer.statusCode < 300);
  });

test("every authenticated answer has the three headers, including refusals", async () => {
  const account = await one.createAccount(1);
  const reader = await one.createKey({ accountId: account.accountId, scopes: ["messages:read"] });
  const json = { "content-type": "application/json" };
  const post = (payload: string, headers: Record<string, string> = json, key = account.key) =>
    one.inject({
      method: "POST",
      url: "/v1/messages",
      headers: { "x-api-key": key, ...headers },
      payload,
    });
  const answers: Record<string, Answer> = {
    VALIDATION_FAILED: await post("{}"),
    JSON_INVALID: await post("{"),
    CONTENT_TYPE_UNSUPPORTED: await post("x", { "content-type": "text/plain" }),
    BODY_TOO_LARGE: await post(" ".repeat(1_048_577)),
    API_KEY_SCOPE_DENIED: await post("{}", json, reader.key),
    CREDITS_INSUFFICIENT: await post(JSON.stringify({ ...message, text: "a".repeat(500) })),
    IDEMPOTENCY_KEY_INVALID: await post(JSON.stringify(message), {
      ...json,
      "idempotency-key": "",
    }),
    MESSAGE_NOT_FOUND: await one.get("/v1/messages/x", account),
    CURSOR_INVALID: await one.get("/v1/messages?cursor=x", account),
  };

  for (const [code, answer] of Object.entries(answers)) {
    assert.equal(answer.json().error.code, code);
    assert.equal(limitsOf(answer).limit, 2, code);
  }
  limitsOf(await one.get("/v1/messages", account));
  limitsOf(await one.post("/v1/messages/preview", message, account));
  const replay = await post(JSON.stringify(message), { ...json, "idempotency-key": "k" });
  assert.equal(replay.statusCode, 202);
  limitsOf(await post(JSON.stringify(message), { ...json, "idempotency-key": "k" }));
  assert.equal((await one.get("/healthz")).headers["ratelimit-limit"], undefined);
});

test("each send by a key that was revoked while this node remembered it is a failed authentication", async () => {
  const { accountId } = await one.createAccount(0);
  const { key, keyId } = await one.createKey({ accountId });
  const send = async () => {
    const answer = await one.inject({
      method: "POST",
      url: "/v1/messages",
      remoteAddress: "192.0.2.12",
      headers: { "x-api-key": key },
      payload: message,
    });
    return answer.statusCode;
  };
  assert.equal(await send(), 402);
  await one.revoke(keyId);

  const statuses: number[] = [];
  for (let n = 0; n <= 20; n += 1) statuses.push(await send());

  assert.deepEqual(statuses, [...Array<number>(20).fill(401), 429]);
});

test("after 20 failed authentications an address gets 429, whatever it says in X-Forwarded-For; valid keys still pass", async () => {
  let asked = 0;
  const ask = (key: string | undefined, remoteAddress: string) => {
    asked += 1;
    const from = { "x-forwarded-for": `198.51.100.${asked}` };
    return one.inject({
      method: "GET",
      url: "/v1/credits",
      remoteAddress,
      headers: key === undefined ? from : { ...from, "x-api-key": key },
    });
  };
  const account = await one.createAccount(0);
  const revoked = await one.createKey({ accountId: account.accountId });
  await one.revoke(revoked.keyId);
  const wrong = ["sms_x", undefined, revoked.key];
  for (let n = 0; n < 20; n += 1)
    assert.equal((await ask(wrong[n % 3], "192.0.2.9")).statusCode, 401);

  for (const key of wrong) {
    const answer = await ask(key, "192.0.2.9");
    const { details } = problemOf(answer, "RATE_LIMITED");
    const message = "Failed authentications of the address are limited to 20 a minute.";
    assert.deepEqual(details, [{ field: null, code: "RATE_LIMITED", message }]);
    assert.equal(answer.headers["retry-after"], "3");
  }
  assert.equal((await ask(account.key, "192.0.2.9")).statusCode, 200);
  assert.equal((await ask("sms_x", "192.0.2.10")).statusCode, 401, "others are not locked out");
  clock.advance(3_000);
  assert.equal((await ask("sms_x", "192.0.2.9")).statusCode, 401, "one grows back in 3 seconds");
  assert.equal((await ask("sms_x", "192.0.2.9")).statusCode, 429);
});
