import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventId } from "#messages";
import { sql } from "#platform";
import { type Person, startConsole, type TestConsole } from "../support/console.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import { TEST_SECRETS } from "../support/secret-key.ts";

let site: TestConsole;
let owner: Person;
let paths: { plain: string; shouted: string };
let keyId: string;
let messageId: string;

before(async () => {
  site = await startConsole();
  owner = await site.member("owner", { isOperator: true });
  const { accountId } = site;
  paths = {
    plain: `/console/accounts/${accountId}`,
    shouted: `/console/accounts/${accountId.toUpperCase()}`,
  };
  const key = { name: "shop", scopes: ["messages:send"] };
  ({ keyId } = (await owner.post(`${paths.plain}/keys`, key)).json());
  const callbackUrl = "http://127.0.0.1:65530/";
  const body = { recipient: "4915112345678", text: "Hello", callbackUrl };
  ({ messageId } = (await owner.post(`${paths.plain}/messages`, body)).json());
  await site.db.query(sql`
    insert into events (message_id, sequence, account_id, status, at, callback_url, body)
    values (${messageId}, 2, ${accountId}, 'FAILED', now(), ${callbackUrl}, 'x')`);
  await site.db.query(sql`
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, error_class, total_ms, ended)
    values (${accountId}, ${messageId}, 2, 7, now(), 6, 'http_500', 0, 'exhausted')`);
});
after(() => site[Symbol.asyncDispose]());

test("a path with ids in upper case answers as in lower case", async () => {
  const deliveryId = eventId(messageId, 2);
  const inAccount = (rest: string, id: string) => [
    `${paths.plain}${rest}${id}`,
    `${paths.shouted}${rest}${id.toUpperCase()}`,
  ];
  for (const [plain = "", shouted = ""] of [
    inAccount("/messages/", messageId),
    inAccount("/webhook-deliveries/", deliveryId),
    inAccount("/members", ""),
    inAccount("/keys", ""),
  ]) {
    const answer = await owner.get(shouted);
    assert.equal(answer.statusCode, 200, shouted);
    assert.deepEqual(answer.json(), (await owner.get(plain)).json());
  }
});

test("a filter by an id in upper case finds the same as in lower case", async () => {
  const { accountId } = site;
  const found = async (path: string, id: string) => (await owner.get(`${path}${id}`)).json().data;
  for (const [path, id] of [
    [`${paths.plain}/ledger?messageId=`, messageId],
    [`${paths.plain}/webhook-deliveries?messageId=`, messageId],
    ["/console/operator/audit?objectId=", keyId],
    ["/console/operator/audit?accountId=", accountId],
    ["/console/operator/audit?actor=user:", owner.userId],
  ] as const) {
    const data = await found(path, id);
    assert.ok(data.length > 0, path);
    assert.deepEqual(await found(path, id.toUpperCase()), data);
  }
});

test("an id in upper case in a body names the same delivery or carrier", async () => {
  const deliveryId = eventId(messageId, 2);
  const replay = (...deliveryIds: string[]) =>
    owner.post(`${paths.plain}/replays`, { deliveryIds, dryRun: true });
  const carrierId = await makeCarrier(site.db, { secrets: TEST_SECRETS });
  const route = { prefix: "33", carrierIds: [carrierId.toUpperCase()] };

  assert.equal((await replay(deliveryId.toUpperCase())).json().total, 1);
  assert.equal((await replay(deliveryId, deliveryId.toUpperCase())).json().total, 1);
  const { data } = (await owner.post("/console/operator/routes", route)).json();
  const set = data.find(({ prefix }: { prefix: string }) => prefix === "33");
  assert.equal(set.carriers[0].carrierId, carrierId);
});
