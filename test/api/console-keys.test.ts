import assert from "node:assert/strict";
import { test } from "node:test";
import { createKey } from "#accounts";
import { scopes } from "#contract/words";
import { sql } from "#platform";
import { problemOf } from "../support/answers.ts";
import { consoleOfFile } from "../support/console.ts";

const NEW_KEY = { name: "Web shop", scopes: [...scopes] };

const shared = consoleOfFile();

test("a key is shown once, works at once, and appears only masked in every later answer", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;

  const created = await owner.post(`${A}/keys`, NEW_KEY);
  assert.equal(created.statusCode, 201);
  const { key, mask, keyId } = created.json();
  assert.match(key, /^sms_[0-9A-Za-z]{36}$/);
  assert.equal(mask, `${key.slice(0, 8)}••••••••`);
  assert.equal(created.headers["cache-control"], "no-store");
  const send = () =>
    console.app.inject({
      method: "POST",
      url: "/v1/messages",
      headers: { "x-api-key": key, "content-type": "application/json" },
      payload: JSON.stringify({ recipient: "4915112345678", text: "Hello" }),
    });
  assert.equal((await send()).statusCode, 202);

  const list = await owner.get(`${A}/keys`);
  assert.equal(list.json().data[0].mask, mask);
  assert.equal(list.json().data[0].createdBy.name, "owner 1");
  assert.equal(list.json().activeCount, 1);
  assert.equal(list.json().maxActive, 50);
  const revoked = await owner.post(`${A}/keys/${keyId}/revoke`);
  assert.equal(revoked.json().state, "revoked");
  assert.equal((await send()).json().error.code, "API_KEY_REVOKED");

  const secret = key.slice(8);
  const kept = await console.db.query<{ everything: string }>(sql`
    select query_to_xml('select * from keys', true, true, '')::text
        || query_to_xml('select * from audit_log', true, true, '')::text
        || query_to_xml('select * from form_keys', true, true, '')::text as everything`);
  for (const answer of [list.body, revoked.body, kept[0]?.everything ?? ""])
    assert.equal(answer.includes(secret), false);
});

test("creating and revoking a key leave one audit row each, with who did it and from where", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;

  const { keyId } = (await owner.post(`${A}/keys`, NEW_KEY)).json();
  await owner.post(`${A}/keys/${keyId}/revoke`);
  await owner.post(`${A}/keys/${keyId}/revoke`);

  const rows = await console.db.query<{
    action: string;
    actor: string;
    address: string;
    request_id: string;
  }>(sql`
    select action, actor, address, request_id from audit_log where object_id = ${keyId} order by audit_id`);
  assert.deepEqual(
    rows.map(({ action, actor, address }) => ({ action, actor, address })),
    [
      { action: "key.created", actor: `user:${owner.userId}`, address: "127.0.0.1" },
      { action: "key.revoked", actor: `user:${owner.userId}`, address: "127.0.0.1" },
    ],
  );
  assert.ok(rows.every(({ request_id }) => request_id !== null));
});

test("a form submitted twice creates one key and shows it once", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const press = (form = "form 1") => owner.post(`${A}/keys`, NEW_KEY, { "idempotency-key": form });

  const answers = await Promise.all(Array.from({ length: 5 }, () => press()));

  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b),
    [201, 409, 409, 409, 409],
  );
  const refused = answers.find(({ statusCode }) => statusCode === 409);
  assert.equal(refused?.json().error.code, "KEY_ALREADY_CREATED");
  problemOf(await press("x".repeat(256)), "IDEMPOTENCY_KEY_INVALID");
  assert.equal((await owner.get(`${A}/keys`)).json().totalCount, 1);
});

test("a key needs a name of 1 to 60 characters and a scope; errors name the field", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const fields = async (body: unknown) => {
    const answer = await owner.post(`${A}/keys`, body);
    assert.equal(answer.statusCode, 422);
    return answer.json().error.details.map(({ field }: { field: string }) => field);
  };

  assert.deepEqual(await fields({ name: "", scopes: [] }), ["name", "scopes"]);
  assert.deepEqual(await fields({ name: "x".repeat(61), scopes: ["messages:send"] }), ["name"]);
  assert.deepEqual(await fields({ name: "x", scopes: ["messages:burn"] }), ["scopes[0]"]);
  assert.deepEqual(await fields({ name: "x", scopes: ["messages:send"], expiresInDays: 0 }), [
    "expiresInDays",
  ]);
  assert.equal(
    (await owner.post(`${A}/keys`, { name: "x".repeat(60), scopes: ["messages:send"] })).statusCode,
    201,
  );
});

test("the 51st active key is refused until one is revoked or expires", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const create = () => owner.post(`${A}/keys`, NEW_KEY);
  const { db, accountId } = console;
  const more = { accountId, ...NEW_KEY, expiresAt: null, actor: "cli", now: new Date() };
  for (let n = 0; n < 49; n += 1) assert.equal((await createKey(db, more)).outcome, "created");
  assert.equal((await create()).statusCode, 201);

  const refused = await create();
  assert.equal(refused.statusCode, 409);
  assert.equal(refused.json().error.code, "KEY_LIMIT_REACHED");

  const { keyId } = (await owner.get(`${A}/keys`)).json().data[0];
  await owner.post(`${A}/keys/${keyId}/revoke`);
  assert.equal((await create()).statusCode, 201);
  const last = await create();
  await db.query(sql`
    update keys set expires_at = created_at
     where key_id = (select max(key_id::text)::uuid from keys where account_id = ${accountId})`);
  assert.deepEqual([last.statusCode, (await create()).statusCode], [409, 201]);
});

test("keys are filtered by state and paged in both directions without a gap", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  for (let n = 0; n < 5; n += 1) await owner.post(`${A}/keys`, { ...NEW_KEY, name: `key ${n}` });
  const soon = await owner.post(`${A}/keys`, { ...NEW_KEY, name: "soon", expiresInDays: 3 });
  const { createdAt, expiresAt } = soon.json();
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 3 * 86_400_000);
  const { keyId } = (await owner.post(`${A}/keys`, { ...NEW_KEY, name: "gone" })).json();
  await owner.post(`${A}/keys/${keyId}/revoke`);
  const names = async (query: string) =>
    (await owner.get(`${A}/keys?${query}`)).json().data.map(({ name }: { name: string }) => name);

  assert.deepEqual(await names("state=revoked"), ["gone"]);
  assert.deepEqual(await names("state=expires_soon"), ["soon"]);
  assert.deepEqual(await names("state=active"), [
    "soon",
    "key 4",
    "key 3",
    "key 2",
    "key 1",
    "key 0",
  ]);
  assert.deepEqual(await names("state=expired"), []);

  const first = (await owner.get(`${A}/keys?limit=3`)).json();
  const second = (await owner.get(`${A}/keys?limit=3&cursor=${first.nextCursor}`)).json();
  const third = (await owner.get(`${A}/keys?limit=3&cursor=${second.nextCursor}`)).json();
  const back = (await owner.get(`${A}/keys?limit=3&cursor=${third.previousCursor}`)).json();
  const walked = [...first.data, ...second.data, ...third.data].map(({ name }) => name);
  assert.deepEqual(walked, ["gone", "soon", "key 4", "key 3", "key 2", "key 1", "key 0"]);
  assert.deepEqual(back.data, second.data);
  assert.deepEqual([first.previousCursor, third.nextCursor], [null, null]);
  const foreign = await owner.get(`${A}/keys?state=revoked&cursor=${first.nextCursor}`);
  assert.equal(foreign.json().error.code, "CURSOR_INVALID");
});

test("a key of another account cannot be seen or revoked", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const other = await console.member("owner", { accountId: await console.createAccount() });
  const { keyId } = (
    await owner.post(`/console/accounts/${console.accountId}/keys`, NEW_KEY)
  ).json();

  const foreign = await other.post(`/console/accounts/${console.accountId}/keys/${keyId}/revoke`);
  assert.equal(foreign.json().error.code, "ACCOUNT_NOT_FOUND");
  const me = (await other.get("/console/me")).json();
  const own = `/console/accounts/${me.accounts[0].accountId}`;
  assert.equal(
    (await other.post(`${own}/keys/${keyId}/revoke`)).json().error.code,
    "KEY_NOT_FOUND",
  );
  assert.deepEqual((await other.get(`${own}/keys`)).json().data, []);
});

test("an API key does not open the dashboard, nor a session cookie the API", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const { key } = (await owner.post(`${A}/keys`, NEW_KEY)).json();

  const byKey = await console.stranger().get(`${A}/keys`, { "x-api-key": key });
  assert.equal(byKey.json().error.code, "SESSION_REQUIRED");
  const byCookie = await owner.get("/v1/messages");
  assert.equal(byCookie.json().error.code, "API_KEY_MISSING");
});
