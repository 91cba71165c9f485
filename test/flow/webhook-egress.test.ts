import assert from "node:assert/strict";
import { test } from "node:test";
import { sql, systemClock } from "#platform";
import { sendTestEvent } from "#webhooks";
import { poster } from "../../server/webhooks/post.ts";
import { startApi } from "../support/api.ts";
import { startCanary } from "../support/canary.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { resolveBy, testEgress } from "../support/egress.ts";
import { hostileHosts, hostileZone } from "../support/hostile-hosts.ts";
import { webhookWorld } from "../support/webhook-world.ts";

// These are the tables of hosts by which the guard itself is tested. Here they take the three ways
// that lead to it: accept, test button, worker. A canary on every address sees no connection.

test("a forbidden callback address is refused when the message is sent, and nothing is charged", async () => {
  await using canary = await startCanary();
  await using api = await startApi({
    credits: 5,
    settings: { WEBHOOK_ALLOW_CIDRS: "", WEBHOOK_ALLOW_HTTP: "true", RATE_LIMIT_SENDS: "100000" },
  });

  for (const host of hostileHosts) {
    const callbackUrl = `http://${host}:${canary.port}/hook`;
    const answer = await api.send({ recipient: "4915112345678", text: "Hello", callbackUrl });
    assert.equal(answer.statusCode, 422, callbackUrl);
    const [detail] = answer.json().error.details;
    assert.deepEqual([detail.field, detail.code], ["callbackUrl", "CALLBACK_URL_FORBIDDEN"]);
  }

  assert.deepEqual(await api.db.query(sql`select message_id from messages`), []);
  assert.deepEqual(await api.db.query(sql`select kind from ledger`), [{ kind: "topup" }]);
  assert.deepEqual(canary.connections, []);
});

test("the service's own database is not allowed as a callback address", async () => {
  await using api = await startApi();
  const { port } = new URL(api.db.url);

  const callbackUrl = `http://127.0.0.1:${port}/`;
  const answer = await api.send({ recipient: "4915112345678", text: "Hello", callbackUrl });

  assert.equal(answer.statusCode, 422);
  assert.equal(answer.json().error.details[0].code, "CALLBACK_URL_FORBIDDEN");
});

test("a worker never connects to a forbidden address; the delivery ends as forbidden, replayable", async () => {
  await using canary = await startCanary();
  await using dns = await startDnsServer(hostileZone);
  await using world = await webhookWorld();
  const hosts = [...hostileHosts, ...Object.keys(hostileZone)];
  // As if they had been accepted under another policy.
  const urls = hosts.map((host) => `http://${host}:${canary.port}/hook`);
  await world.sentTo(urls);

  world.worker({ allowCidrs: [], resolve: resolveBy(dns.address) });
  await world.left(0);

  const attempts = await world.attempts();
  assert.equal(attempts.length, urls.length);
  assert.ok(attempts.every(({ ended, attempt }) => ended === "forbidden" && attempt === 1));
  assert.deepEqual(canary.connections, []);
});

test("the test button refuses the same addresses as the worker", async () => {
  await using canary = await startCanary();
  await using dns = await startDnsServer(hostileZone);
  await using world = await webhookWorld();
  const { db, secrets, accountId } = world;
  const egress = testEgress({ allowCidrs: [], resolve: resolveBy(dns.address) });
  const posting = poster(egress);
  const deps = { db, clock: systemClock, secrets, poster: posting, policy: egress.policy };
  const tested = (host: string) =>
    sendTestEvent(
      { ...deps, version: "test" },
      { accountId, url: `http://${host}:${canary.port}/`, status: "DELIVERED", actor: "test" },
    );

  for (const host of hostileHosts) assert.equal((await tested(host)).outcome, "refused", host);
  for (const name of Object.keys(hostileZone).slice(0, 8)) {
    const result = await tested(name);
    assert.equal(result.outcome === "sent" && result.attempt.outcome.kind, "forbidden", name);
  }
  await posting.close();

  assert.deepEqual(canary.connections, []);
});
