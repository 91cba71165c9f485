import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type ConsoleOperation,
  consoleOperations,
  memberRoles,
  type Operation,
  operations,
} from "#contract";
import { eventId } from "#messages";
import { newId, sql, systemClock } from "#platform";
import { type Person, startConsole, type TestConsole } from "../support/console.ts";
import { makeKey } from "../support/make-key.ts";

/** Two accounts: one has something of every kind; the other's owner and key ask for it. */
let site: TestConsole;
let mine: { person: Person; accountId: string; key: string };
let foreign: Record<string, string>;

before(async () => {
  site = await startConsole();
  foreign = await fill(site);
  const accountId = await site.createAccount();
  const person = await site.member("owner", { accountId });
  mine = { person, accountId, key: (await makeKey(site.db, { accountId })).key };
});
after(() => site[Symbol.asyncDispose]());

/** One of everything that has an id, under its name in paths. */
async function fill({ member, accountId, db }: TestConsole): Promise<Record<string, string>> {
  const owner = await member("owner");
  const { userId } = await member("viewer");
  const A = `/console/accounts/${accountId}`;
  const send = {
    recipient: "4915112345678",
    text: "Hello",
    callbackUrl: "http://127.0.0.1:65530/",
  };
  const { messageId } = (await owner.post(`${A}/messages`, send)).json();
  const key = (await owner.post(`${A}/keys`, { name: "shop", scopes: ["messages:send"] })).json();
  const { invitation } = (await owner.post(`${A}/invitations`, { role: "viewer" })).json();
  const replayId = newId(systemClock.now().getTime());
  await db.query(sql`
    insert into events (message_id, sequence, account_id, status, at, callback_url, body)
    values (${messageId}, 2, ${accountId}, 'FAILED', now(), ${send.callbackUrl}, 'x')`);
  await db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, error_class, total_ms, ended)
    values (${accountId}, ${messageId}, 2, 7, now(), 6, 'http_500', 0, 'exhausted')`);
  await db.query(sql`
    insert into webhook_replays (replay_id, account_id, actor, fingerprint, created_at, total)
    values (${replayId}, ${accountId}, 'test', '', now(), 1)`);
  return {
    messageId,
    keyId: key.keyId,
    userId,
    invitationId: invitation.invitationId,
    deliveryId: eventId(messageId, 2),
    replayId,
  };
}

function pathOf(path: string): string {
  return path.replace("{accountId}", mine.accountId).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return foreign[name] ?? assert.fail(`nothing stands for ${name}: let fill() make one`);
  });
}

const named = Object.entries<ConsoleOperation>(consoleOperations).filter(
  ([, { access, path }]) =>
    (memberRoles as readonly string[]).includes(access) && /\{(?!accountId\})/.test(path),
);

for (const [name, { method, path, body }] of named) {
  test(`${name} finds nothing of another account by its id`, async () => {
    const { examples = [{}] } = (body ?? {}) as { examples?: unknown[] };

    const answer = await mine.person.call(method, pathOf(path), body && examples[0]);

    assert.equal(answer.statusCode, 404, answer.body);
    assert.doesNotMatch(answer.body, /4915112345678|Hello|shop/);
  });
}

test("a path with a malformed id answers 404", async () => {
  const accountId = mine.accountId;
  const operator = await site.member("owner", { accountId, isOperator: true });
  const others = Object.values<ConsoleOperation>(consoleOperations).filter(
    ({ access, path }) => (access === "user" || access === "operator") && path.includes("{"),
  );

  assert.ok(others.length > 5);
  for (const { method, path, body } of others) {
    const { examples = [{}] } = (body ?? {}) as { examples?: unknown[] };
    const answer = await operator.call(
      method,
      path.replaceAll(/\{\w+\}/g, "x"),
      body && examples[0],
    );
    assert.equal(answer.statusCode, 404, `${method} ${path}: ${answer.body}`);
  }
});

for (const [name, operation] of Object.entries<Operation>(operations)) {
  const { method, path } = operation;
  if (!path.includes("{")) continue;
  test(`${name} finds nothing of another account by its id`, async () => {
    const headers = { "x-api-key": mine.key };

    const answer = await site.app.inject({ method, url: pathOf(path), headers });

    assert.equal(answer.statusCode, 404, answer.body);
    assert.equal(answer.json().error.code, "MESSAGE_NOT_FOUND");
  });
}

test("every list shows nothing of another account", async () => {
  const lists = Object.values<ConsoleOperation>(consoleOperations).filter(
    ({ method, path, access, success }) =>
      method === "GET" &&
      (memberRoles as readonly string[]).includes(access) &&
      !/\{(?!accountId\})/.test(path) &&
      success.type !== "text/event-stream",
  );
  const strange = [...Object.values(foreign), "4915112345678"];

  assert.ok(lists.length > 5);
  for (const { path } of lists) {
    const answer = await mine.person.get(pathOf(path));
    for (const id of strange) assert.ok(!answer.body.includes(id), `${path} shows ${id}`);
  }
});

test("after all these requests, the other account has what it had", async () => {
  const [left] = await site.db.query(sql`
    select (select count(*) from keys where account_id = ${site.accountId} and revoked_at is null) as keys,
           (select count(*) from memberships where account_id = ${site.accountId}) as members,
           (select status from messages where account_id = ${site.accountId}) as status,
           (select count(*) from webhook_replays where account_id = ${site.accountId} and canceled_at is null) as replays,
           (select count(*) from webhook_deliveries where account_id = ${site.accountId}) as replayed`);

  assert.deepEqual(left, { keys: 1, members: 2, status: "QUEUED", replays: 1, replayed: 0 });
});
