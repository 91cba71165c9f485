import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { rotateSigningSecret } from "#accounts";
import type { Exchange } from "#contract";
import { parseEventId } from "#messages";
import { secretBox, sql, within } from "#platform";
import { problemOf } from "../support/answers.ts";
import { consoleOfFile, type Person, type TestAccount } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { startReceiver } from "../support/receiver.ts";

const shared = consoleOfFile({ settings: { ROLES: "api,sender,webhooks,dashboard" } });

async function send(
  person: Person,
  { accountId }: TestAccount,
  callbackUrl: string,
): Promise<string> {
  const body = { recipient: "4915112345678", text: "secret words", callbackUrl };
  return (await person.post(`/console/accounts/${accountId}/messages`, body)).json().messageId;
}

type Delivery = {
  deliveryId: string;
  state: string;
  event: string;
  attempts: number;
  lastHttpStatus: number;
  createdAt: string;
};

test("deliveries are listed with their attempts, found by each filter, and masked for a viewer", async () => {
  const answer = { status: 200, body: "<img src=x onerror=alert(1)>" };
  await using receiver = await startReceiver(() => answer);
  const console = await shared.another();
  const developer = await console.member("developer");
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;
  const messageId = await send(developer, console, `${receiver.url}?to=4915112345678`);
  const list = async (query = ""): Promise<Delivery[]> =>
    (await developer.get(`${A}/webhook-deliveries?${query}`)).json().data;
  const done = await eventually("both webhooks were delivered", async () => {
    const data = await list("state=delivered");
    return data.length === 2 && data;
  });

  assert.deepEqual(
    done.map(({ event }) => event),
    ["message.delivered", "message.sent"],
  );
  assert.equal((await list("event=message.sent")).length, 1);
  assert.equal((await list(`messageId=${messageId}`)).length, 2);
  assert.equal((await list(`host=${new URL(receiver.url).host}&httpStatus=200`)).length, 2);
  assert.equal((await list("state=exhausted")).length, 0);
  const [{ createdAt: lastAt } = assert.fail(), { createdAt: firstAt } = assert.fail()] = done;
  const laterAt = new Date(Date.parse(lastAt) + 1).toISOString();
  assert.equal((await list(`createdAfter=${firstAt}&createdBefore=${laterAt}`)).length, 2);
  assert.equal((await list(`createdAfter=${laterAt}`)).length, 0);
  assert.equal((await list(`createdBefore=${firstAt}`)).length, 0);
  const first = (await developer.get(`${A}/webhook-deliveries?limit=1`)).json();
  const second = (
    await developer.get(`${A}/webhook-deliveries?limit=1&cursor=${first.nextCursor}`)
  ).json();
  assert.deepEqual(
    [...first.data, ...second.data].map(({ deliveryId }) => deliveryId),
    done.map(({ deliveryId }) => deliveryId),
  );

  const filtered = `${A}/webhook-deliveries?event=message.sent&cursor=${first.nextCursor}`;
  problemOf(await developer.get(filtered), "CURSOR_INVALID");

  const path = `${A}/webhook-deliveries/${done[0]?.deliveryId}`;
  const detail = (await developer.get(path)).json();
  const sent = receiver.received.find(
    ({ headers }) => headers["webhook-id"] === done[0]?.deliveryId,
  );
  assert.equal(detail.body, String(sent?.body));
  const [exchange] = detail.exchanges;
  assert.deepEqual([exchange.httpStatus, exchange.responseBody], [answer.status, answer.body]);
  assert.ok(exchange.timings.totalMs >= 0);
  const header = (name: string) =>
    exchange.requestHeaders.find((each: { name: string }) => each.name.toLowerCase() === name)
      ?.value;
  assert.equal(header("webhook-id"), done[0]?.deliveryId);
  assert.equal(header("x-sms-event"), "message.delivered");
  const masked = await viewer.get(path);
  assert.equal(masked.json().body, null);
  assert.deepEqual(
    masked
      .json()
      .exchanges.map((each: Exchange) => [each.responseBody, each.responseHeaders.length]),
    [[null, 0]],
    "an answer may repeat what it got",
  );
  assert.ok(exchange.responseHeaders.length > 0);
  assert.equal(detail.url, `${receiver.url}?to=4915112345678`);
  assert.equal(masked.json().url, receiver.url);
  const listed = await viewer.get(`${A}/webhook-deliveries`);
  for (const { body } of [masked, listed]) assert.equal(body.includes("4915112345678"), false);

  const hosts = await eventually("the receiver is known by both", async () => {
    const { data } = (await developer.get(`${A}/webhook-hosts`)).json();
    return data[0]?.succeeded === 2 && data;
  });
  assert.equal(hosts.length, 1);
  assert.equal(
    detail.host,
    hosts[0].host,
    "a delivery names its receiver as the list of them does",
  );
  assert.partialDeepStrictEqual(hosts[0], {
    host: new URL(receiver.url).origin,
    succeeded: 2,
    failed: 0,
    waiting: 0,
  });
  const health = (await developer.get(`${A}/stats/webhooks?range=1h`)).json();
  assert.partialDeepStrictEqual(health, {
    delivered: 2,
    exhausted: 0,
    waiting: 0,
    retrying: 0,
    failedAttempts: 0,
  });
  assert.equal((await developer.get(`${A}/progress`)).json().hasWebhook, true);
  const elsewhere = await console.createAccount();
  const other = await console.member("owner", { accountId: elsewhere });
  const foreign = await other.get(
    `/console/accounts/${elsewhere}/webhook-deliveries/${done[0]?.deliveryId}`,
  );
  assert.equal(foreign.json().error.code, "DELIVERY_NOT_FOUND");
});

test("a replay is a new attempt with the same id and bytes, once per form, and audited", async () => {
  await using receiver = await startReceiver();
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  await send(developer, console, receiver.url);
  const [delivery] = await eventually("both webhooks were delivered", async () => {
    const { data } = (await developer.get(`${A}/webhook-deliveries?state=delivered`)).json();
    return data.length === 2 && (data as Delivery[]);
  });
  const deliveryId = delivery?.deliveryId ?? "";
  const press = () =>
    developer.post(`${A}/webhook-deliveries/${deliveryId}/replay`, undefined, {
      "idempotency-key": "f1",
    });

  assert.equal((await press()).statusCode, 202);
  assert.equal((await press()).statusCode, 202);
  await eventually("it was delivered again", async () => {
    const { state, attempts } = (
      await developer.get(`${A}/webhook-deliveries/${deliveryId}`)
    ).json();
    return state === "delivered" && attempts === 2;
  });

  const same = receiver.received.filter(({ headers }) => headers["webhook-id"] === deliveryId);
  assert.equal(same.length, 2);
  assert.deepEqual(same[0]?.body, same[1]?.body);
  assert.deepEqual(
    same.map(({ headers }) => headers["x-sms-attempt"]),
    ["1", "2"],
  );
  const { signingSecret } = (await developer.post(`${A}/signing-secret/reveal`)).json();
  const signature = createHmac("sha256", signingSecret)
    .update(same[1]?.body ?? "")
    .digest("hex");
  assert.equal(same[1]?.headers["x-sms-signature"], signature);
  const audited = await console.db.query(
    sql`select actor from audit_log where action = 'webhook.replayed' and account_id = ${console.accountId}`,
  );
  assert.deepEqual(audited, [{ actor: `user:${developer.userId}` }]);
});

test("exhausted deliveries are counted, then replayed, and the replay can be followed and stopped", async () => {
  await using receiver = await startReceiver(() => 410);
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  await send(developer, console, receiver.url);
  const gone = await eventually("both webhooks have ended", async () => {
    const { data } = (await developer.get(`${A}/webhook-deliveries?state=gone`)).json();
    return data.length === 2 && (data as Delivery[]);
  });
  const start = (body: object) => developer.post(`${A}/replays`, body);
  const deliveryIds = gone.map(({ deliveryId }) => deliveryId);

  const counted = (await start({ deliveryIds, dryRun: true })).json();
  assert.partialDeepStrictEqual(counted, { replayId: null, state: "counted", total: 2 });
  assert.equal(
    (await start({ exhaustedSince: "2020-01-01T00:00:00Z", dryRun: true })).json().total,
    0,
  );
  for (const body of [{}, { deliveryIds, exhaustedSince: "2020-01-01T00:00:00Z" }])
    assert.match((await start(body)).json().error.details[0].message, /one of the two/);
  assert.equal((await start({ exhaustedSince: "yesterday" })).statusCode, 422);
  receiver.answer = () => 200;
  const keyed = async (body: object) =>
    (await developer.post(`${A}/replays`, body, { "idempotency-key": "k" })).json();
  const first = await keyed({ deliveryIds: deliveryIds.slice(0, 1) });
  assert.equal((await keyed({ deliveryIds: deliveryIds.slice(0, 1) })).replayId, first.replayId);
  for (const other of [{ deliveryIds }, { exhaustedSince: "2020-01-01T00:00:00Z" }])
    assert.equal((await keyed(other)).error?.code, "IDEMPOTENCY_KEY_REUSED");
  const single = `${A}/webhook-deliveries/${deliveryIds[1]}/replay`;
  const reused = await developer.post(single, undefined, { "idempotency-key": "k" });
  assert.equal(reused.json().error?.code, "IDEMPOTENCY_KEY_REUSED");
  await eventually("the first replay is done", async () => {
    const read = (await developer.get(`${A}/replays/${first.replayId}`)).json();
    return read.state === "done";
  });
  const { messageId, sequence } = parseEventId(deliveryIds[1] ?? "") ?? assert.fail("no event");
  await console.db.query(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at, leased_until)
    values (${messageId}, ${sequence}, ${console.accountId}, 1, now(), now() + interval '1 hour', now() + interval '1 hour')`);
  const held = await developer.post(single, undefined, { "idempotency-key": "held" });
  assert.equal(held.json().error?.code, "DELIVERY_IN_FLIGHT");
  const shown = async () => {
    const path = `${A}/webhook-deliveries/${deliveryIds[1]}`;
    const { isPaused, nextAttemptAt } = (await developer.get(path)).json();
    return { isPaused, isPlanned: nextAttemptAt !== null };
  };
  assert.deepEqual(await shown(), { isPaused: false, isPlanned: false });
  await console.db.query(sql`
    insert into webhook_hosts (account_id, host_key, origin, health, since, last_at)
    values (${console.accountId}, 1, ${new URL(receiver.url).origin}, 'open', now(), now())`);
  await console.db.query(sql`
    update webhook_deliveries set leased_until = null where message_id = ${messageId} and sequence = ${sequence}`);
  assert.deepEqual(await shown(), { isPaused: true, isPlanned: true });
  await console.db.query(sql`
    delete from webhook_deliveries where message_id = ${messageId} and sequence = ${sequence}`);
  const { replayId, total } = (await start({ deliveryIds })).json();
  assert.equal(total, 2);
  const progress = await eventually("the replay is done", async () => {
    const read = (await developer.get(`${A}/replays/${replayId}`)).json();
    return read.state === "done" && read;
  });
  assert.partialDeepStrictEqual(progress, { total: 2, waiting: 0, delivered: 2, failed: 0 });
  assert.equal(
    (await developer.call("DELETE", `${A}/replays/${replayId}`)).json().state,
    "canceled",
  );
  const unknown = await developer.get(`${A}/replays/019a85c2-5b00-7abc-8def-0123456789ab`);
  assert.equal(unknown.json().error.code, "REPLAY_NOT_FOUND");
});

test("a test event is signed, shows the answer at once, and is sent to no forbidden address", async () => {
  await using receiver = await startReceiver(() => 500);
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const tryOut = (url: string, event?: string) =>
    developer.post(`${A}/webhook-tests`, { url, event });

  const failed = (await tryOut(receiver.url)).json();
  assert.deepEqual([failed.isDelivered, failed.exchange.httpStatus], [false, 500]);
  assert.match(failed.exchange.error, /answered 500/);
  receiver.answer = () => 204;
  const fine = (await tryOut(receiver.url, "message.failed")).json();
  assert.equal(fine.isDelivered, true);
  const { headers, body } = receiver.received[1] ?? assert.fail("no second event came");
  assert.equal(String(body), fine.body);
  assert.deepEqual([headers["x-sms-event"], headers["x-sms-test"]], ["message.failed", "true"]);
  const forbidden = await tryOut("http://169.254.169.254/latest");
  assert.equal(forbidden.statusCode, 422);
  assert.partialDeepStrictEqual(forbidden.json().error.details[0], {
    field: "url",
    code: "CALLBACK_URL_FORBIDDEN",
  });
  assert.equal((await tryOut(receiver.url, "message.queued")).statusCode, 422);
});

test("an account may send ten test events, and one more every six seconds, even if requests are concurrent", async () => {
  await using receiver = await startReceiver();
  const console = await shared.another();
  const { db, accountId } = console;
  const developer = await console.member("developer");
  const tryOut = async () =>
    (await developer.post(`/console/accounts/${accountId}/webhook-tests`, { url: receiver.url }))
      .statusCode;
  const countFrom = (seconds: number) =>
    db.query(sql`
      update webhook_test_allowances set at = clock_timestamp() + make_interval(secs => ${seconds})
       where account_id = ${accountId}`);
  const statuses: number[] = [];

  for (let n = 0; n < 12; n += 1) {
    statuses.push(await tryOut());
    // Pretends that no time has passed, in which another test would have been allowed.
    await countFrom(60);
  }
  await countFrom(-6);
  const { both } = await held(db, async (tx) => {
    await tx.query(sql`
      select from webhook_test_allowances where account_id = ${accountId} for update`);
    const trying = [tryOut(), tryOut()];
    await somebodyWaits(db, 2);
    return { both: Promise.all(trying) };
  });

  assert.deepEqual(statuses, [...Array<number>(10).fill(200), 429, 429]);
  assert.deepEqual((await both).toSorted(), [200, 429]);
});

test("a delivered test event completes the webhook step of the walk, a failed one does not", async () => {
  await using receiver = await startReceiver(() => 500);
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const isReceived = async () => {
    assert.equal(
      (await developer.post(`${A}/webhook-tests`, { url: receiver.url })).statusCode,
      200,
    );
    return (await developer.get(`${A}/progress`)).json().hasWebhook;
  };

  assert.equal(await isReceived(), false);
  receiver.answer = () => 204;
  assert.equal(await isReceived(), true);
});

test("setting the clock back uses up no test events", async () => {
  await using receiver = await startReceiver();
  const console = await shared.another();
  const developer = await console.member("developer");
  const tryOut = () =>
    developer.post(`/console/accounts/${console.accountId}/webhook-tests`, { url: receiver.url });
  assert.equal((await tryOut()).statusCode, 200);

  await console.db.query(sql`
    update webhook_test_allowances set at = at + interval '1 hour' where account_id = ${console.accountId}`);

  assert.equal((await tryOut()).statusCode, 200);
});

test("a rotation that would drop a secret still in use must be confirmed or have no overlap", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const secret = `/console/accounts/${console.accountId}/signing-secret`;
  const rotate = (body: object) => developer.post(`${secret}/rotate`, body);
  const first = (await rotate({ overlapHours: 24 })).json();

  problemOf(await rotate({ overlapHours: 24 }), "ROTATION_UNCONFIRMED");
  problemOf(await rotate({ overlapHours: 24, dropPrevious: false }), "ROTATION_UNCONFIRMED");
  const kept = (await developer.post(`${secret}/reveal`)).json();
  const confirmed = (await rotate({ overlapHours: 24, dropPrevious: true })).json();
  const dropped = await rotate({ overlapHours: 0 });

  assert.deepEqual(kept, first);
  assert.equal(confirmed.previousSigningSecret, first.signingSecret);
  assert.partialDeepStrictEqual(dropped.json(), { previousSigningSecret: null });
});

test("the second of two concurrent rotations must be confirmed", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const developer = await console.member("developer");
  const rotation = { accountId, overlapHours: 24, dropsPrevious: false, actor: "cli" } as const;
  const secrets = secretBox(console.secretKey);

  const { answer } = await held(db, async (tx) => {
    await rotateSigningSecret(within(tx), { ...rotation, now: new Date(), secrets });
    const path = `/console/accounts/${accountId}/signing-secret/rotate`;
    const asked = developer.post(path, { overlapHours: 24 });
    await somebodyWaits(db);
    return { answer: asked };
  });

  problemOf(await answer, "ROTATION_UNCONFIRMED");
});

test("a rotation submitted twice by one form happens once, and both answers have the same secrets", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const secret = `/console/accounts/${console.accountId}/signing-secret`;
  const press = (body: object) =>
    developer.post(`${secret}/rotate`, body, { "idempotency-key": "form 1" });

  const answers = await Promise.all(Array.from({ length: 3 }, () => press({ overlapHours: 24 })));
  const confirmed = await press({ overlapHours: 24, dropPrevious: true });
  problemOf(await press({ overlapHours: 0 }), "IDEMPOTENCY_KEY_REUSED");
  const live = (await developer.post(`${secret}/reveal`)).json();
  assert.notEqual(live.previousSigningSecret, null);
  for (const answer of [...answers, confirmed]) assert.deepEqual(answer.json(), live);
});

test("a form that was sent for one account rotates no secret of another, and does not claim to", async () => {
  const [console, other] = [await shared.another(), await shared.another()];
  const developer = await console.member("developer");
  await shared.db.query(sql`
    insert into memberships (account_id, user_id, role, joined_at)
    values (${other.accountId}, ${developer.userId}, 'developer', now())`);
  const press = ({ accountId }: typeof console) =>
    developer.post(
      `/console/accounts/${accountId}/signing-secret/rotate`,
      { overlapHours: 24 },
      { "idempotency-key": "form 1" },
    );

  assert.equal((await press(console)).statusCode, 200);
  problemOf(await press(other), "IDEMPOTENCY_KEY_REUSED");

  const path = `/console/accounts/${other.accountId}/signing-secret`;
  assert.equal((await developer.get(path)).json().previousUntil, null, "nothing was rotated");
});

test("a refused rotation can be confirmed by the same form", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const secret = `/console/accounts/${console.accountId}/signing-secret`;
  const first = (await developer.post(`${secret}/rotate`, { overlapHours: 24 })).json();
  const press = (body: object) =>
    developer.post(`${secret}/rotate`, body, { "idempotency-key": "form 1" });

  problemOf(await press({ overlapHours: 24 }), "ROTATION_UNCONFIRMED");
  const confirmed = await press({ overlapHours: 24, dropPrevious: true });

  assert.equal(confirmed.json().previousSigningSecret, first.signingSecret);
});

test("the signing secret is masked for all, audited when revealed, and rotated with an overlap", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;

  const masked = await viewer.get(`${A}/signing-secret`);
  assert.partialDeepStrictEqual(masked.json(), { mask: "whsec_••••••••", previousUntil: null });
  const revealed = (await developer.post(`${A}/signing-secret/reveal`)).json();
  assert.match(revealed.signingSecret, /^whsec_/);
  const rotated = (await developer.post(`${A}/signing-secret/rotate`, { overlapHours: 24 })).json();
  assert.equal(rotated.previousSigningSecret, revealed.signingSecret);
  assert.notEqual(rotated.previousUntil, null);
  assert.notEqual((await viewer.get(`${A}/signing-secret`)).json().previousUntil, null);
  const dropped = (await developer.post(`${A}/signing-secret/rotate`, { overlapHours: 0 })).json();
  assert.equal(dropped.previousSigningSecret, null);
  assert.equal(
    (await developer.post(`${A}/signing-secret/rotate`, { overlapHours: 73 })).statusCode,
    422,
  );
  const audited = await console.db.query<{ action: string; details: object }>(sql`
    select action, details
      from audit_log
     where action like 'secret.%' and account_id = ${console.accountId}
     order by audit_id`);
  assert.deepEqual(
    audited.map(({ action }) => action),
    ["secret.revealed", "secret.rotated", "secret.rotated"],
  );
  assert.equal(JSON.stringify(audited).includes("whsec_"), false);
});
