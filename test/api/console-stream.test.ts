import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "#platform";
import {
  type Person,
  startConsole,
  type TestAccount,
  type TestConsole,
} from "../support/console.ts";
import { openStream } from "../support/event-stream.ts";

let shared: TestConsole;
let origin: string;
before(async () => {
  shared = await startConsole();
  origin = await shared.app.listen({ host: "127.0.0.1", port: 0 });
});
after(() => shared[Symbol.asyncDispose]());

function watch(
  origin: string,
  console: TestAccount,
  { cookie }: Person,
  headers: Record<string, string> = {},
) {
  return openStream(`${origin}/console/accounts/${console.accountId}/stream`, {
    cookie,
    ...headers,
  });
}

const send = async (
  person: Person,
  { accountId }: Pick<TestAccount, "accountId">,
): Promise<string> =>
  (
    await person.post(`/console/accounts/${accountId}/messages`, {
      recipient: "4915112345678",
      text: "secret words",
    })
  ).json().messageId;

function changesOf(...accountIds: string[]): Promise<unknown[]> {
  return shared.db.query(sql`
    select kind from watched_changes where account_id = any (${accountIds}::uuid[])`);
}

test("a stream sends ids of changes without content; nothing is written while nobody watches", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  await send(developer, console);
  assert.deepEqual(await changesOf(console.accountId), []);
  await using stream = await watch(origin, console, developer);
  assert.deepEqual((await stream.next()).data, { type: "all" });

  const id = await send(developer, console);
  const told = await stream.until(({ type }) => type === "credits");
  assert.deepEqual(told[0], { type: "message", id, version: 1 });
  await developer.post(`${A}/messages/${id}/cancel`);
  const canceled = await stream.until(({ type }) => type === "credits");
  assert.deepEqual(canceled.at(-2), { type: "message", id, version: 2 });
  const { keyId } = (
    await developer.post(`${A}/keys`, { name: "x", scopes: ["messages:send"] })
  ).json();
  await stream.until(({ type, id: changed }) => type === "key" && changed === keyId);
  await developer.post(`${A}/keys/${keyId}/revoke`);
  await stream.until(({ type, id: changed }) => type === "key" && changed === keyId);

  const [kept] = await console.db.query<{ everything: string }>(sql`
    select query_to_xml('select * from watched_changes', true, true, '')::text as everything`);
  assert.equal(kept?.everything.includes("secret words"), false);
  assert.equal(kept?.everything.includes("4915112345678"), false);
});

test("nothing is written for an account that nobody watches any more, even if another is watched", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const elsewhere = await console.createAccount();
  await console.db.query(sql`
    insert into watched_accounts (account_id, since, until)
    select a.account_id, clock_timestamp(), clock_timestamp() + a.lasts
      from (values (${console.accountId}::uuid, interval '0'), (${elsewhere}, interval '1 hour')) as a (account_id, lasts)`);

  const id = await send(developer, console);
  await developer.post(`/console/accounts/${console.accountId}/messages/${id}/cancel`);

  assert.deepEqual(await changesOf(console.accountId, elsewhere), []);
});

test("a HEAD request opens no stream and creates no file", async () => {
  const console = await shared.another();
  const { cookie } = await console.member("developer");

  for (const path of ["stream", "messages.csv"]) {
    const url = `${origin}/console/accounts/${console.accountId}/${path}`;
    const answer = await fetch(url, { method: "HEAD", headers: { cookie } });
    assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET"]);
  }
});

test("a slow download breaks off once its member is removed", async () => {
  const console = await shared.another();
  const { accountId, db } = console;
  const [owner, developer] = [await console.member("owner"), await console.member("developer")];
  // More than a connection's buffers hold.
  await db.query(sql`
    insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status,
                          created_at, expires_at)
    select ${accountId}, (left(id_floor(now())::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, '4915112345678',
           repeat('x', 4000), 'gsm7', 1, 1, 'SENT', now(), now()
      from generate_series(1, 5000) n`);
  const { cookie } = developer;
  const file = await fetch(`${origin}/console/accounts/${accountId}/messages.csv`, {
    headers: { cookie },
  });
  assert.equal(file.status, 200);

  const path = `/console/accounts/${accountId}/members/${developer.userId}`;
  assert.equal((await owner.call("DELETE", path)).statusCode, 204);

  await assert.rejects(file.text());
});

test("changes of another account are not sent", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const elsewhere = await console.createAccount();
  const other = await console.member("developer", { accountId: elsewhere });
  await using stream = await watch(origin, console, developer);
  await using theirs = await openStream(`${origin}/console/accounts/${elsewhere}/stream`, {
    cookie: other.cookie,
  });
  await stream.next();
  await theirs.next();

  const foreign = (
    await other.post(`/console/accounts/${elsewhere}/messages`, {
      recipient: "4915112345678",
      text: "x",
    })
  ).json().messageId;
  const seenThere = await theirs.until(({ type }) => type === "credits");
  const own = await send(developer, console);
  const seenHere = await stream.until(({ type }) => type === "credits");

  assert.deepEqual(seenThere[0], { type: "message", id: foreign, version: 1 });
  assert.deepEqual(seenHere[0], { type: "message", id: own, version: 1 });
  const refused = await openStream(`${origin}/console/accounts/${elsewhere}/stream`, {
    cookie: developer.cookie,
  });
  assert.equal(refused.status, 404);
});

test("a client that reconnects gets what it missed in its account; after a gap it is told to reload all", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const elsewhere = await console.createAccount();
  const other = await console.member("developer", { accountId: elsewhere });
  await console.db.query(sql`
    insert into watched_accounts (account_id, since, until)
    values (${elsewhere}, clock_timestamp(), clock_timestamp() + interval '1 hour')`);
  const first = await watch(origin, console, developer);
  await first.next();
  const { lastEventId } = first;
  await first[Symbol.asyncDispose]();

  await send(other, { accountId: elsewhere });
  const missed = [await send(developer, console), await send(developer, console)];
  await using back = await watch(origin, console, developer, { "last-event-id": lastEventId });
  const told = await back.until(({ id }) => id === missed[1]);
  assert.deepEqual(
    told.filter(({ type }) => type === "message").map(({ id }) => id),
    missed,
  );

  for (const stale of ["1.1", `${lastEventId.split(".")[0]}.1`, "999999999999999.1", "rubbish"]) {
    await using lost = await watch(origin, console, developer, { "last-event-id": stale });
    assert.deepEqual((await lost.next()).data, { type: "all" }, stale);
  }
});

test("two nodes report each other's changes", async () => {
  const console = await shared.another();
  await using second = await startConsole({ db: console.db });
  const developer = await console.member("developer");
  const itsOrigin = await second.app.listen({ host: "127.0.0.1", port: 0 });
  await using stream = await watch(itsOrigin, console, developer);
  await stream.next();

  const id = await send(developer, console);

  assert.deepEqual((await stream.next()).data, { type: "message", id, version: 1 });
});

test("sign-out, removal and a new role end the stream", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const people = [
    await console.member("developer"),
    await console.member("developer"),
    await console.member("developer"),
  ] as const;
  const A = `/console/accounts/${console.accountId}`;
  const streams = await Promise.all(people.map((person) => watch(origin, console, person)));
  for (const stream of streams) await stream.next();

  await people[0].post("/console/auth/sign-out");
  await owner.call("DELETE", `${A}/members/${people[1].userId}`);
  await owner.call("PATCH", `${A}/members/${people[2].userId}`, { role: "viewer", version: 1 });

  for (const stream of streams) {
    await stream.until(({ type }) => type === "ended");
    await assert.rejects(stream.next(), /ended/);
  }
});

test("a change of a user is reported in each of their accounts, and in no other", async () => {
  const console = await shared.another();
  const [owner, developer] = [await console.member("owner"), await console.member("developer")];
  const elsewhere = await shared.another();
  const stranger = await elsewhere.member("owner");
  await using stream = await watch(origin, console, owner);
  await using strange = await watch(origin, elsewhere, stranger);
  for (const each of [stream, strange]) await each.until(({ type }) => type === "all");

  await developer.call("PATCH", "/console/me", { name: "Ada King", version: 1 });

  assert.deepEqual((await stream.next()).data, { type: "member", id: developer.userId });
  assert.deepEqual(await changesOf(elsewhere.accountId), []);
});

test("more than two hundred messages at once are reported without their ids", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const { key } = (
    await developer.post(`/console/accounts/${console.accountId}/keys`, {
      name: "x",
      scopes: ["messages:send"],
    })
  ).json();
  await using stream = await watch(origin, console, developer);
  await stream.until(({ type }) => type === "all");

  const messages = Array.from({ length: 201 }, () => ({ recipient: "4915112345678", text: "x" }));
  await console.app.inject({
    method: "POST",
    url: "/v1/messages/batch",
    headers: { "x-api-key": key, "content-type": "application/json" },
    payload: JSON.stringify({ messages }),
  });

  const told = await stream.until(({ type }) => type === "credits");
  assert.deepEqual(told, [{ type: "messages" }, { type: "credits" }]);
});

test("the operator's stream reports changes of accounts, routes and the audit log", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const owner = await console.member("owner");
  const path = `${origin}/console/operator/stream`;
  await using stream = await openStream(path, { cookie: operator.cookie });
  await stream.until(({ type }) => type === "all");

  await operator.post("/console/operator/prices", { prefix: "33", credits: 2 });
  const told = await stream.until(({ type }) => type === "routing");
  assert.ok(told.some(({ type }) => type === "audit"));
  await operator.post("/console/operator/accounts", { name: "Other" });
  await stream.until(({ type }) => type === "accounts");
  // Users are listed with their accounts, names and second factors.
  await owner.call("PATCH", "/console/me", { name: "Ada King", version: 1 });
  await stream.until(({ type }) => type === "accounts");
  await owner.post(`/console/accounts/${console.accountId}/leave`);
  await stream.until(({ type }) => type === "accounts");
  const refused = await openStream(path, { cookie: owner.cookie });
  assert.equal(refused.status, 404);
});

test("the operator's stream reports that a node is back, and that a carrier's speed changes", async () => {
  const console = await shared.another();
  const { db } = console;
  const operator = await console.member("owner", { isOperator: true });
  const path = `${origin}/console/operator/stream`;
  await using stream = await openStream(path, { cookie: operator.cookie });
  await stream.until(({ type }) => type === "all");

  await db.query(sql`
    insert into nodes (node_id, roles, host, pid, version, started_at, heard_at)
    values (${console.accountId}, '{sender}', 'test', 1, '0', now(), now())`);
  await stream.until(({ type }) => type === "nodes");
  await db.query(sql`update nodes set heard_at = heard_at + interval '10 seconds'`);
  await stream.until(({ type }) => type === "nodes");

  const lastHour = { since: null, refusals: {}, lateReceipts: 0 };
  const counts = { inDoubt: 0, reconnects: 0, throttled: 0 };
  const link = { state: "bound", problem: null, submitsPerSecond: 32 };
  const state = { state: "up", links: [link], lastHour, counts };
  // In the future, so that the state is not reported merely for being old.
  await db.query(sql`
    insert into carrier_states (carrier_id, node_id, state, at)
    select carrier_id, ${console.accountId}, ${JSON.stringify(state)}::jsonb, now() + interval '1 hour'
      from carriers`);
  await stream.until(({ type }) => type === "carriers");
  await db.query(sql`
    update carrier_states set state = jsonb_set(state, '{links,0,submitsPerSecond}', '0')`);
  await stream.until(({ type }) => type === "carriers");
});
