import assert from "node:assert/strict";
import crypto, { argon2Sync } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { Readable } from "node:stream";
import { test } from "node:test";
import { consoleOperations } from "#contract";
import { sql } from "#platform";
import { LIMIT_MS } from "../support/eventually.ts";
import { codeOf } from "../../server/console/sign-in/totp.ts";
import { problemOf } from "../support/answers.ts";
import { consoleOfFile, PASSWORD, type Person } from "../support/console.ts";
import { movableClock } from "../support/movable-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** If a test sets it, the clock stands still at this time. */
let stoppedAt: Date | undefined;
const moving = movableClock();
const clock = { ...moving, now: () => stoppedAt ?? moving.now() };
const shared = consoleOfFile({ clock, settings: { TRUST_PROXY: "127.0.0.1/32" } });

test("an unknown e-mail and a wrong password get the same answer, and cost one hash each", async (t) => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const hashed = t.mock.method(crypto, "argon2").mock;
  syncBuiltinESMExports();
  t.after(() => {
    hashed.restore();
    syncBuiltinESMExports();
  });
  const attempt = (email: string, password: string) =>
    console.stranger().post("/console/auth/sign-in", { email, password });

  const unknown = await attempt("nobody@example.com", "some wrong password");
  assert.equal(hashed.callCount(), 1);
  const wrong = await attempt(owner.email, "some wrong password");
  assert.equal(hashed.callCount(), 2);

  const told = ({ statusCode, json }: typeof unknown) => {
    const { code, message, details } = json().error;
    return { statusCode, code, message, details };
  };
  assert.deepEqual(told(unknown), told(wrong));
  assert.equal(unknown.statusCode, 401);
  assert.equal(unknown.json().error.code, "SIGN_IN_FAILED");
  assert.deepEqual(Object.keys(unknown.headers).toSorted(), Object.keys(wrong.headers).toSorted());
  assert.equal((await attempt(` ${owner.email.toUpperCase()} `, PASSWORD)).statusCode, 200);
});

test(
  "with 22 passwords being hashed or queued, the next gets 503, Retry-After 1 and does not count as a try",
  { timeout: LIMIT_MS },
  async (t) => {
    const console = await shared.another();
    const owner = await console.member("owner");
    const countTries = async () => {
      const [counted] = await console.db.query<{ tries: number }>(sql`
        select coalesce(sum(tries), 0)::int as tries from sign_in_tries`);
      return counted?.tries ?? 0;
    };
    const before = await countTries();
    const goOn: (() => void)[] = [];
    const hashed = t.mock.method(crypto, "argon2", (...given: unknown[]) => {
      const done = given.at(-1) as (error: null, hash: Buffer) => void;
      if (goOn.length < 2) goOn.push(() => done(null, Buffer.alloc(32)));
      else done(null, Buffer.alloc(32));
    }).mock;
    syncBuiltinESMExports();
    t.after(() => {
      hashed.restore();
      syncBuiltinESMExports();
    });
    const signIn = (n: number) =>
      console
        .stranger()
        .post(
          "/console/auth/sign-in",
          { email: `nobody${n}@example.com`, password: "some wrong password" },
          { "x-forwarded-for": `10.9.0.${n}` },
        );

    const answers = Array.from({ length: 23 }, (_, n) => signIn(n));
    const refused = await Promise.race(answers);
    const proof = await owner.post("/console/proof", { password: PASSWORD });
    for (const each of goOn) each();

    const { statusCode, headers } = refused;
    assert.deepEqual([statusCode, headers["retry-after"]], [503, "1"]);
    assert.equal(refused.json().error.code, "SIGN_IN_BUSY");
    assert.equal(proof.json().error?.code, "SIGN_IN_BUSY");
    const others = (await Promise.all(answers)).filter((each) => each !== refused);
    assert.ok(others.every((each) => each.statusCode === 401));
    assert.equal((await countTries()) - before, 2 * others.length, "by the user and the address");
  },
);

test("of a hundred wrong passwords at once five are checked, and the wait grows", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  let address = 0;
  const attempt = (password: string) => {
    address += 1;
    const from = { "x-forwarded-for": `10.0.${address >> 8}.${address & 255}` };
    return console.stranger().post("/console/auth/sign-in", { email: owner.email, password }, from);
  };

  const answers = await Promise.all(Array.from({ length: 100 }, () => attempt("wrong password")));

  const looked = answers.filter(({ statusCode }) => statusCode === 401);
  const refused = answers.filter(({ statusCode }) => statusCode === 429);
  assert.deepEqual([looked.length, refused.length], [5, 95]);
  assert.ok(refused.every(({ headers }) => Number(headers["retry-after"]) <= 61));
  assert.equal((await attempt(PASSWORD)).statusCode, 429, "not even the right one");
  clock.advance(61_000);
  assert.equal((await attempt("wrong password")).statusCode, 401);
  const again = await attempt(PASSWORD);
  assert.ok(Number(again.headers["retry-after"]) > 60, "the second wait is two minutes");
  clock.advance(121_000);
  assert.equal((await attempt(PASSWORD)).statusCode, 200);
  assert.equal((await attempt("wrong password")).statusCode, 401, "a success starts anew");
});

test("each further wrong password lengthens the wait, up to fifteen minutes", async (t) => {
  stoppedAt = clock.now();
  t.after(() => (stoppedAt = undefined));
  const console = await shared.another();
  const owner = await console.member("owner");
  const guess = (n: number) =>
    console
      .stranger()
      .post(
        "/console/auth/sign-in",
        { email: owner.email, password: "wrong password" },
        { "x-forwarded-for": `10.2.0.${n}` },
      );
  for (let n = 0; n < 5; n += 1) await guess(n);

  const waits: number[] = [];
  for (let n = 5; n < 11; n += 1) {
    const seconds = Number((await guess(n)).headers["retry-after"]);
    waits.push(seconds / 60);
    stoppedAt = new Date(stoppedAt.getTime() + seconds * 1_000);
    await guess(n);
  }

  assert.deepEqual(waits, [1, 2, 4, 8, 15, 15]);
});

test("an address has twenty tries a minute, whichever users it tries", async (t) => {
  // On a busy machine, the tries would take so long that some would be forgotten.
  stoppedAt = clock.now();
  t.after(() => (stoppedAt = undefined));
  const console = await shared.another();
  const from = { "x-forwarded-for": "10.1.0.1" };
  const statuses: number[] = [];
  for (let n = 0; n < 22; n += 1) {
    const body = { email: `user${n}@example.com`, password: "wrong password" };
    statuses.push((await console.stranger().post("/console/auth/sign-in", body, from)).statusCode);
  }

  assert.deepEqual(
    statuses.slice(0, 20),
    Array.from({ length: 20 }, () => 401),
  );
  assert.deepEqual(statuses.slice(20), [429, 429]);
});

test("signing in between guesses gives an address no more of them", async (t) => {
  stoppedAt = clock.now();
  t.after(() => (stoppedAt = undefined));
  const console = await shared.another();
  const { email } = await console.member("owner");
  const from = { "x-forwarded-for": "10.1.0.2" };
  const attempt = async (body: object) =>
    (await console.stranger().post("/console/auth/sign-in", body, from)).statusCode;
  const guess = (n: number) => attempt({ email: `other${n}@example.com`, password: "wrong" });
  for (let n = 0; n < 19; n += 1) await guess(n);

  assert.equal(await attempt({ email, password: PASSWORD }), 200);

  assert.deepEqual([await guess(19), await guess(20)], [401, 429]);
});

test("a session ends by sign-out, idleness and age, and a planted cookie gains nothing", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const isOpen = async ({ get }: Person) => (await get("/console/me")).statusCode === 200;

  const planted = owner.cookie;
  await owner.signIn();
  assert.notEqual(owner.cookie, planted);
  const old = console.stranger();
  old.cookie = planted;
  assert.equal(await isOpen(old), false, "the session before the sign-in is over");

  const copy = console.stranger();
  copy.cookie = owner.cookie;
  assert.equal(await isOpen(copy), true);
  assert.equal((await owner.post("/console/auth/sign-out")).statusCode, 204);
  assert.equal(owner.cookie, "");
  assert.equal((await copy.get("/console/me")).json().error.code, "SESSION_REQUIRED");

  await owner.signIn();
  clock.advance(12 * HOUR - MINUTE);
  assert.equal(await isOpen(owner), true);
  clock.advance(12 * HOUR + 1_000);
  assert.equal(await isOpen(owner), false, "idle for more than 12 hours");

  await owner.signIn();
  assert.equal((await owner.get("/console/auth/sessions")).json().data.length, 1, "nor listed");
  for (let hours = 0; hours < 7 * 24; hours += 11) {
    assert.equal(await isOpen(owner), true, `after ${hours} hours`);
    clock.advance(11 * HOUR);
  }
  assert.equal(await isOpen(owner), false, "older than seven days");
});

test("a session's last use is written at most once in five minutes, and is when the team last saw its user", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const noted = async () => {
    await owner.get("/console/me");
    const rows = await console.db.query<{ seen_at: Date }>(sql`
      select seen_at from sessions where user_id = ${owner.userId}`);
    const { data } = (await owner.get(`/console/accounts/${console.accountId}/members`)).json();
    assert.deepEqual(
      rows.map(({ seen_at }) => seen_at.toISOString()),
      data.map(({ lastSeenAt }: { lastSeenAt: string }) => lastSeenAt),
    );
    return rows.map(({ seen_at }) => seen_at.getTime());
  };

  const first = await noted();
  clock.advance(4 * MINUTE);
  const soon = await noted();
  clock.advance(MINUTE + 1_000);
  const later = await noted();

  assert.deepEqual(soon, first);
  assert.notDeepEqual(later, first);
});

test("the tables cannot be used to sign in: they hold neither a cookie's token nor its key", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const text = owner.cookie.split("=")[1] ?? "";
  const value = Buffer.from(text, "base64url");

  const [row] = await console.db.query<{ token_hash: Buffer; whole: string }>(sql`
    select token_hash, to_jsonb(s)::text || to_jsonb(u)::text as whole
      from sessions s join users u using (user_id)
     where user_id = ${owner.userId}`);

  assert.ok(row);
  assert.equal(row.token_hash.length, 32);
  assert.equal(value.includes(row.token_hash), false);
  // If any part of the cookie were stored, as bytes or text, eight in a row would be found.
  for (const whole of [value.toString("hex"), text])
    for (let from = 0; from + 16 <= whole.length; from += 1)
      assert.equal(row.whole.includes(whole.slice(from, from + 16)), false);
});

test("a write that does not come from our own pages is refused before anything else is checked", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const origin = console.publicUrl;
  const from = (headers: Record<string, string>) =>
    console.app.inject({
      method: "POST",
      url: `/console/accounts/${console.accountId}/messages/preview`,
      headers: { cookie: owner.cookie, "content-type": "application/json", ...headers },
      payload: { recipient: "4915112345678", text: "x" },
    });

  const cases: [Record<string, string>, number][] = [
    [{ "sec-fetch-site": "same-origin" }, 200],
    [{ "sec-fetch-site": "same-site", origin }, 403],
    [{ "sec-fetch-site": "cross-site", origin }, 403],
    [{ "sec-fetch-site": "none", origin }, 403],
    [{ origin }, 200],
    [{ origin: "http://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ host: "posthorn.test" }, 403],
    [{}, 403],
  ];
  for (const [headers, expected] of cases) {
    const answer = await from(headers);
    assert.equal(answer.statusCode, expected, JSON.stringify(headers));
    if (expected === 403) assert.equal(answer.json().error.code, "ORIGIN_DENIED");
  }

  const form = await console.app.inject({
    method: "POST",
    url: "/console/auth/sign-in",
    headers: {
      "sec-fetch-site": "same-origin",
      "content-type": "application/x-www-form-urlencoded",
    },
    payload: "email=a",
  });
  assert.equal(form.statusCode, 415);
  const preflight = await console.app.inject({
    method: "OPTIONS",
    url: "/console/me",
    headers: { origin: "http://evil.example" },
  });
  assert.equal(preflight.headers["access-control-allow-origin"], undefined);
});

test("requests from other sites that change something are refused, whatever the method", async () => {
  const console = await shared.another();
  const { cookie } = await console.member("owner", { isOperator: true });
  const writes = Object.values(consoleOperations).filter(({ method }) => method !== "GET");

  for (const { method, path } of writes) {
    const url = path.replaceAll(/\{\w+\}/g, console.accountId);
    const headers = { cookie, "sec-fetch-site": "cross-site" };
    const answer = await console.app.inject({ method, url, headers });
    assert.equal(answer.json().error.code, "ORIGIN_DENIED", `${method} ${path}`);
  }
});

test("proof by password or code is required after ten minutes, not for revoking a key, and guesses are limited", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const create = () => owner.post(`${A}/keys`, { name: "x", scopes: ["messages:send"] });
  const { keyId } = (await create()).json();

  clock.advance(10 * MINUTE + 1_000);
  assert.equal((await create()).json().error.code, "PROOF_REQUIRED");
  assert.equal((await owner.post(`${A}/keys/${keyId}/revoke`)).statusCode, 200);
  const wrong = await owner.post("/console/proof", { password: "wrong password" });
  assert.equal(wrong.json().error.code, "PROOF_FAILED");
  assert.equal((await owner.post("/console/proof", {})).statusCode, 422);
  const proof = await owner.post("/console/proof", { password: PASSWORD });
  assert.equal(proof.statusCode, 200);
  assert.equal(
    new Date(proof.json().provenUntil).getTime() > clock.now().getTime() + 9 * MINUTE,
    true,
  );
  assert.equal((await create()).statusCode, 201);

  const guesses: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    const guess = await owner.post("/console/proof", { password: "wrong password" });
    guesses.push(guess.statusCode);
  }
  assert.deepEqual(guesses, [403, 403, 403, 403, 403, 429], "as at the sign-in");
  const codes: number[] = [];
  for (let n = 0; n < 6; n += 1)
    codes.push((await owner.post("/console/proof", { code: "000000" })).statusCode);
  assert.deepEqual(codes, [403, 403, 403, 403, 403, 429], "as at the second factor");
});

test("wrong guesses at the sign-in do not stop a signed-in user from acting", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const guess = { email: owner.email, password: "wrong password" };
  const statuses: number[] = [];
  for (let n = 0; n < 6; n += 1)
    statuses.push((await console.stranger().post("/console/auth/sign-in", guess)).statusCode);
  assert.deepEqual(statuses.slice(4), [401, 429]);

  assert.equal((await owner.post("/console/proof", { password: PASSWORD })).statusCode, 200);
});

test("a user who loses the session or the role while a request's body arrives changes nothing with it", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const slowly = async (meanwhile: (developer: Person) => Promise<unknown>) => {
    const developer = await console.member("developer");
    async function* body() {
      yield '{"name": "x", ';
      await meanwhile(developer);
      yield '"scopes": ["messages:send"]}';
    }
    const answer = await console.app.inject({
      method: "POST",
      url: `${A}/keys`,
      headers: {
        cookie: developer.cookie,
        "sec-fetch-site": "same-origin",
        "content-type": "application/json",
      },
      payload: Readable.from(body()),
    });
    return answer.json().error?.code ?? answer.statusCode;
  };

  assert.equal(await slowly(() => Promise.resolve()), 201);
  assert.equal(await slowly(({ post }) => post("/console/auth/sign-out")), "SESSION_REQUIRED");
  const demote = ({ userId }: Person) =>
    console.db.query(sql`update memberships set role = 'viewer' where user_id = ${userId}`);
  assert.equal(await slowly(demote), "ROLE_DENIED");
  assert.equal((await owner.get(`${A}/keys`)).json().data.length, 1);
});

test("with a second factor the password alone opens nothing, and each code works once", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const elsewhere = console.stranger();
  await elsewhere.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });

  const { secret, otpauthUrl } = (await owner.post("/console/auth/second-factor/enrol")).json();
  assert.ok(otpauthUrl.includes(secret));
  const no = await owner.post("/console/auth/second-factor/confirm", { code: "000000" });
  assert.equal(no.json().error.code, "SECOND_FACTOR_FAILED");
  const first = codeOf(secret, clock.now());
  const confirmed = await owner.post("/console/auth/second-factor/confirm", { code: first });
  const { recoveryCodes } = confirmed.json();
  assert.equal(recoveryCodes.length, 10);
  assert.equal((await owner.get("/console/me")).json().hasSecondFactor, true);
  assert.equal((await elsewhere.get("/console/me")).statusCode, 401, "other sessions ended");

  clock.advance(30_000);
  const code = codeOf(secret, clock.now());
  const signIn = await elsewhere.post("/console/auth/sign-in", {
    email: owner.email,
    password: PASSWORD,
  });
  assert.deepEqual(signIn.json(), { state: "second_factor_required" });
  const pending = elsewhere.cookie;
  const [told] = await console.db.query<{ action: string }>(sql`
    select action from audit_log order by audit_id desc limit 1`);
  assert.equal(told?.action, "user.password_given", "that is no sign-in yet");
  assert.equal((await elsewhere.get("/console/me")).json().error.code, "SECOND_FACTOR_REQUIRED");
  const listed = (await owner.get("/console/auth/sessions")).json().data;
  assert.equal(listed.length, 1, "nor a place where one is signed in");
  const used = await elsewhere.post("/console/auth/second-factor", { code: first });
  assert.equal(used.statusCode, 401, "it switched the second factor on");
  const spaced = `${code.slice(0, 3)} ${code.slice(3)}`;
  const opened = await elsewhere.post("/console/auth/second-factor", { code: spaced });
  assert.deepEqual(opened.json(), { state: "signed_in" });
  assert.notEqual(elsewhere.cookie, pending, "a new token after the second factor");
  assert.equal((await elsewhere.get("/console/me")).statusCode, 200);
  const late = await elsewhere.post("/console/auth/second-factor", { code });
  assert.deepEqual(late.json(), { state: "signed_in" }, "another tab still asks for it");

  const third = console.stranger();
  const again = () =>
    third.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  await again();
  assert.equal((await third.post("/console/auth/second-factor", { code })).statusCode, 401, "used");
  const recovery = recoveryCodes[0].toUpperCase();
  assert.equal(
    (await third.post("/console/auth/second-factor", { code: recovery })).statusCode,
    200,
  );
  assert.equal((await third.get("/console/me")).json().recoveryCodesLeft, 9);
  await again();
  assert.equal(
    (await third.post("/console/auth/second-factor", { code: recovery })).statusCode,
    401,
  );

  assert.equal((await owner.post("/console/auth/recovery-codes")).statusCode, 200);
  const old = await third.post("/console/auth/second-factor", { code: recoveryCodes[1] });
  assert.equal(old.statusCode, 401, "new codes end the old ones");
  assert.equal((await owner.get("/console/me")).json().recoveryCodesLeft, 10);
  const confirmedAgain = await owner.post("/console/auth/second-factor/confirm", { code });
  assert.equal(confirmedAgain.statusCode, 401, "nothing waits to be switched on");

  const kept = await console.db.query<{ everything: string }>(sql`
    select query_to_xml('select * from users', true, true, '')::text
        || query_to_xml('select * from recovery_codes', true, true, '')::text
        || query_to_xml('select * from audit_log', true, true, '')::text as everything`);
  for (const hidden of [secret, ...recoveryCodes, PASSWORD])
    assert.equal(kept[0]?.everything.includes(hidden), false);

  assert.equal((await owner.call("DELETE", "/console/auth/second-factor")).statusCode, 204);
  const { hasSecondFactor, recoveryCodesLeft } = (await owner.get("/console/me")).json();
  assert.deepEqual([hasSecondFactor, recoveryCodesLeft], [false, 0]);
  problemOf(await owner.post("/console/auth/recovery-codes"), "SECOND_FACTOR_FAILED");
  assert.deepEqual((await again()).json(), { state: "signed_in" });
});

test("a second factor allows five tries in fifteen minutes, reset by a right one, and expires after ten", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const { secret } = (await owner.post("/console/auth/second-factor/enrol")).json();
  await owner.post("/console/auth/second-factor/confirm", { code: codeOf(secret, clock.now()) });
  const other = console.stranger();
  const guess = (code: string) => other.post("/console/auth/second-factor", { code });
  await other.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });

  const statuses: number[] = [];
  for (let n = 0; n < 6; n += 1) statuses.push((await guess("000000")).statusCode);
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
  clock.advance(14 * MINUTE);
  await other.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  assert.equal((await guess(codeOf(secret, clock.now()))).statusCode, 429);
  clock.advance(MINUTE + 1_000);
  await other.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  for (let n = 0; n < 4; n += 1) await guess("000000");
  clock.advance(9 * MINUTE);
  assert.equal((await guess(codeOf(secret, clock.now()))).statusCode, 200);
  const { provenUntil } = (await other.get("/console/me")).json();
  assert.ok(Date.parse(provenUntil) > clock.now().getTime() + 9 * MINUTE, "the code is a proof");
  await other.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  assert.equal((await guess("000000")).statusCode, 401);
  clock.advance(10 * MINUTE + 1_000);
  const late = await guess(codeOf(secret, clock.now()));
  assert.equal(late.json().error.code, "SESSION_REQUIRED");

  const prove = async (code: string) => (await owner.post("/console/proof", { code })).statusCode;
  for (let n = 0; n < 3; n += 1) await prove("000000");
  assert.equal(await prove(codeOf(secret, clock.now())), 200);
  assert.equal(await prove("000000"), 403);
});

test("enabling a second factor allows five tries at its code too", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  await owner.post("/console/auth/second-factor/enrol");

  const statuses: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    const guess = await owner.post("/console/auth/second-factor/confirm", { code: "000000" });
    statuses.push(guess.statusCode);
  }

  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
});

test("a password change ends all other sessions and obeys the rules; a weaker hash is renewed at sign-in", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const elsewhere = console.stranger();
  await elsewhere.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  const change = (currentPassword: string, newPassword: string) =>
    owner.post("/console/auth/password", { currentPassword, newPassword });

  assert.equal(
    (await change("wrong password", "purple canoe 17 window")).json().error.code,
    "PROOF_FAILED",
  );
  const weak = await change(PASSWORD, "password1234");
  assert.deepEqual(
    weak.json().error.details.map(({ field }: { field: string }) => field),
    ["newPassword"],
  );
  assert.equal((await elsewhere.get("/console/auth/sessions")).json().data.length, 2);
  assert.equal((await change(PASSWORD, "purple canoe 17 window")).statusCode, 204);
  assert.equal((await elsewhere.get("/console/me")).statusCode, 401);
  assert.equal((await owner.get("/console/me")).statusCode, 200);
  assert.equal((await owner.signIn()).statusCode, 401);
  owner.password = "purple canoe 17 window";
  assert.equal((await owner.signIn()).statusCode, 200);

  const nonce = Buffer.alloc(16, 7);
  const parameters = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 };
  const hash = argon2Sync("argon2id", { message: owner.password, nonce, ...parameters });
  const [salt, tag] = [nonce, hash].map((each) => each.toString("base64").replaceAll("=", ""));
  await console.db.query(sql`
    update users set password = ${`$argon2id$v=19$m=8,t=1,p=1$${salt}$${tag}`} where user_id = ${owner.userId}`);
  for (let n = 0; n < 2; n += 1) assert.equal((await owner.signIn()).statusCode, 200);
  const [kept] = await console.db.query<{ password: string }>(sql`
    select password from users where user_id = ${owner.userId}`);
  assert.match(kept?.password ?? "", /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

test("every action that ends all other sessions also ends copies of the current one's cookie", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const F = "/console/auth/second-factor";
  const endings: Record<string, () => ReturnType<Person["post"]>> = {
    end: () => owner.post("/console/auth/sessions/end-others"),
    async switchOn() {
      const { secret } = (await owner.post(`${F}/enrol`)).json();
      return owner.post(`${F}/confirm`, { code: codeOf(secret, clock.now()) });
    },
    switchOff: () => owner.call("DELETE", F),
    password: () =>
      owner.post("/console/auth/password", {
        currentPassword: PASSWORD,
        newPassword: "purple canoe 17 window",
      }),
  };

  for (const [name, end] of Object.entries(endings)) {
    const copy = console.stranger();
    copy.cookie = owner.cookie;
    assert.ok((await end()).statusCode < 300, name);
    assert.equal((await copy.get("/console/me")).statusCode, 401, name);
    assert.equal((await owner.get("/console/me")).statusCode, 200, name);
  }
});

test("ending the present session through the list clears its cookie, as signing out does", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const { data } = (await owner.get("/console/auth/sessions")).json();

  const ended = await owner.call("DELETE", `/console/auth/sessions/${data[0].sessionId}`);

  assert.match(String(ended.headers["set-cookie"]), /^posthorn_session=; .*Max-Age=0$/);
  assert.equal((await owner.get("/console/me")).statusCode, 401);
});

test("users can end their own other sessions, and nobody else's", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const other = await console.member("viewer");
  const elsewhere = console.stranger();
  await elsewhere.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  const { data } = (await owner.get("/console/auth/sessions")).json();
  const away = data.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent);
  const path = `/console/auth/sessions/${away.sessionId}`;

  assert.equal((await other.call("DELETE", path)).json().error.code, "SESSION_NOT_FOUND");
  assert.equal((await owner.call("DELETE", path)).statusCode, 204);
  assert.equal((await elsewhere.get("/console/me")).statusCode, 401);
  assert.equal((await owner.call("DELETE", "/console/auth/sessions/rubbish")).statusCode, 404);
});
