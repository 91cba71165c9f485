import assert from "node:assert/strict";
import { test } from "node:test";
import { startSmsc } from "#carriers";
import type { Carrier, ConsoleOperations, SuccessOf } from "#contract";
import { setPrice, setRoute } from "#messages";
import { type Database, sql, within } from "#platform";
import { changeCarrier } from "#sending";
import { selfSigned } from "../support/certificates.ts";
import { consoleOfFile, type Person, startConsole, type TestAccount } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import { TEST_SECRETS } from "../support/secret-key.ts";

const O = "/console/operator";
const SIMULATOR = "01900000-0000-7000-8000-000000000001";

const operatorOf = (console: TestAccount): Promise<Person> =>
  console.member("owner", { isOperator: true });

const shared = consoleOfFile();

test("an account is created with its owner's invitation, once per form, and found by name; so are users", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const press = (name: string, key: string) =>
    operator.post(`${O}/accounts`, { name, credits: 250 }, { "idempotency-key": key });

  const made = (await press("Second shop", "f1")).json();
  assert.equal((await press("Second shop", "f1")).json().error.code, "LINK_ALREADY_MADE");
  assert.partialDeepStrictEqual(made.account, {
    name: "Second shop",
    balance: 250,
    members: 0,
    owners: [],
  });
  const token = new URL(made.link).hash.replace("#token=", "");
  const guest = console.stranger();
  const fields = { name: "Grace", email: "grace@example.com", password: "violet tram 88 ladder" };
  assert.equal((await guest.post("/console/links/join", { token, ...fields })).statusCode, 200);

  const found = (await operator.get(`${O}/accounts?q=second`)).json().data;
  assert.equal(found.length, 1);
  assert.partialDeepStrictEqual(found[0], { members: 1, owners: [{ email: "grace@example.com" }] });
  const byId = (await operator.get(`${O}/accounts?q=${found[0].accountId.toUpperCase()}`)).json();
  assert.deepEqual(byId.data, found);
  const page = (await operator.get(`${O}/accounts?limit=1`)).json();
  const next = (await operator.get(`${O}/accounts?limit=1&cursor=${page.nextCursor}`)).json();
  assert.deepEqual([page.data[0].name, next.data[0].accountId], ["Second shop", console.accountId]);
  const last = (await operator.get(`${O}/accounts?limit=1&q=second`)).json();
  assert.deepEqual([last.data, last.nextCursor], [found, null]);
  for (const words of ["GRACE", "CE@EXAMPLE"]) {
    const users = (await operator.get(`${O}/users?q=${words}`)).json().data;
    assert.equal(users.length, 1);
    assert.partialDeepStrictEqual(users[0], {
      email: "grace@example.com",
      accounts: [{ name: "Second shop" }],
    });
  }
});

test("values that no table can hold are refused, and cause no internal error", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const books = `${O}/accounts/${console.accountId}/credits`;
  const answers = [
    await operator.post(`${O}/accounts`, { name: "a\0b", credits: 1 }),
    await operator.post(`${O}/accounts`, { name: "a\u001b[31m", credits: 1 }),
    await operator.post(books, { kind: "topup", amount: 1, note: "a\0b" }),
    await operator.get(`${O}/accounts?q=%00`),
    await operator.get(`${O}/users?q=%00`),
    await operator.post("/console/auth/sign-in", { email: "a\0b@example.com", password: "x" }),
  ];

  for (const answer of answers) assert.equal(answer.json().error.code, "VALIDATION_FAILED");
});

test("all errors of a request are reported at once, each under its field", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const A = `/console/accounts/${console.accountId}`;
  const { link } = (await operator.post(`${A}/invitations`, { role: "viewer" })).json();
  const token = new URL(link).hash.replace("#token=", "");
  // Has the form of a time, but is in the year 10000 in UTC.
  const late = "9999-12-31T23:59:59-01:00";
  const wrong = async (answer: ReturnType<Person["get"]>) => {
    const { details } = (await answer).json().error;
    return details.map(({ field }: { field: string }) => field).toSorted();
  };

  const audit = `accountId=x&actor=%00&action=%00&objectId=%00&after=${late}&before=${late}`;
  assert.deepEqual(await wrong(operator.get(`${O}/audit?${audit}`)), [
    "accountId",
    "action",
    "actor",
    "after",
    "before",
    "objectId",
  ]);
  assert.deepEqual(await wrong(operator.get(`${O}/audit?objectId=%00`)), ["objectId"]);
  const settings = { version: 1, name: "a\u001b", defaultSender: "!" };
  assert.deepEqual(await wrong(operator.call("PATCH", A, settings)), ["defaultSender", "name"]);
  const guest = console.stranger().post("/console/links/join", { token, email: "x" });
  assert.deepEqual(await wrong(guest), ["email", "name", "password"]);
  const deliveries = `messageId=x&host=%00&createdAfter=${late}&createdBefore=${late}`;
  assert.deepEqual(await wrong(operator.get(`${A}/webhook-deliveries?${deliveries}`)), [
    "createdAfter",
    "createdBefore",
    "host",
    "messageId",
  ]);
  const messages = `keyId=x&sender=%00&reference=%00&createdAfter=${late}`;
  assert.deepEqual(await wrong(operator.get(`${A}/messages?${messages}`)), [
    "createdAfter",
    "keyId",
    "reference",
    "sender",
  ]);
  const books = `${O}/accounts/${console.accountId}/credits`;
  for (const text of ["a\0", "  ", "\u200B"]) {
    const booking = { kind: "topup", amount: 0, note: text, reference: text };
    assert.deepEqual(await wrong(operator.post(books, booking)), ["amount", "note", "reference"]);
  }
});

test("routes and prices: the longest prefix wins, answers match a real send, conflicts are reported", async () => {
  await using console = await startConsole();
  const operator = await operatorOf(console);
  const A = `/console/accounts/${console.accountId}`;

  const { version } = (await operator.get(`${O}/prices`)).json();
  const set = (prefix: string, credits: number, seen?: number) =>
    operator.post(`${O}/prices`, { prefix, credits, version: seen });
  const first = await set("49", 3, version);
  assert.equal(first.statusCode, 200);
  assert.equal((await set("49", 4, version)).json().error.code, "VERSION_CONFLICT");
  await set("4915", 5);
  assert.equal((await set("4x", 5)).statusCode, 422);
  const find = async (recipient: string) =>
    (await operator.get(`${O}/prices/find?recipient=${recipient}`)).json();
  assert.deepEqual(await find("4915112345678"), {
    recipient: "4915112345678",
    prefix: "4915",
    credits: 5,
  });
  assert.partialDeepStrictEqual(await find("4930123456"), { prefix: "49", credits: 3 });
  assert.partialDeepStrictEqual(await find("33612345678"), { prefix: null, credits: 1 });
  const preview = await operator.post(`${A}/messages/preview`, {
    recipient: "4915112345678",
    text: "x",
  });
  assert.equal(preview.json().credits, 5);
  assert.equal((await operator.call("DELETE", `${O}/prices?prefix=4915`)).statusCode, 200);
  assert.equal(
    (await operator.call("DELETE", `${O}/prices?prefix=4915`)).json().error.code,
    "PREFIX_NOT_FOUND",
  );

  const routes = (await operator.get(`${O}/routes`)).json();
  assert.deepEqual(routes.data, [
    { prefix: "", carriers: [{ carrierId: SIMULATOR, name: "simulator" }] },
  ]);
  for (const carrierIds of [["nobody"], [SIMULATOR, SIMULATOR]]) {
    const refused = await operator.post(`${O}/routes`, { prefix: "33", carrierIds });
    assert.equal(refused.json().error?.details[0].field, "carrierIds");
  }
  assert.equal(
    (await operator.post(`${O}/routes`, { prefix: "33", carrierIds: [SIMULATOR] })).statusCode,
    200,
  );
  const route = (await operator.get(`${O}/routes/find?recipient=%2B33612345678`)).json();
  assert.partialDeepStrictEqual(route, { prefix: "33", carriers: [{ name: "simulator" }] });
  assert.equal((await operator.call("DELETE", `${O}/routes?prefix=`)).statusCode, 200);
  const nowhere = (await operator.get(`${O}/routes/find?recipient=4915112345678`)).json();
  assert.deepEqual([nowhere.prefix, nowhere.carriers], [null, []]);
  const refused = await operator.post(`${A}/messages`, { recipient: "4915112345678", text: "x" });
  assert.equal(refused.json().error.code, "RECIPIENT_NOT_SERVED");
});

test("the version of a list of routes or prices is never newer than its entries", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const change = { actor: "cli", now: new Date() } as const;

  for (const list of ["routes", "prices"]) {
    const { answer } = await console.db.transaction(async (tx) => {
      await tx.query(sql`lock table routing_version in access exclusive mode`);
      const asked = operator.get(`${O}/${list}`);
      await somebodyWaits(console.db);
      const route = { prefix: "33", carrierIds: [SIMULATOR] };
      if (list === "routes") await setRoute(within(tx), route, change);
      else await setPrice(within(tx), { prefix: "33", credits: 2 }, change);
      return { answer: asked };
    });
    const { data } = (await answer).json();
    assert.ok(
      data.some(({ prefix }: { prefix: string }) => prefix === "33"),
      list,
    );
  }
});

test("the second of two concurrent changes from the same version is a conflict", async () => {
  const console = await shared.another();
  const { db } = console;
  const operator = await operatorOf(console);
  const by = { actor: "cli", now: new Date() } as const;
  const secrets = TEST_SECRETS;
  const settings = { host: "127.0.0.1", port: 1, system_id: "test" };
  const carrierId = await makeCarrier(db, { name: "wanted by two", settings, secrets });
  const secondOf = async (
    first: (tx: Database) => Promise<unknown>,
    second: () => ReturnType<Person["post"]>,
  ) => {
    const { answer } = await held(db, async (tx) => {
      await first(within(tx));
      const asked = second();
      await somebodyWaits(db);
      return { answer: asked };
    });
    return (await answer).json().error?.code;
  };

  const { version } = (await operator.get(`${O}/prices`)).json();
  const price = await secondOf(
    (tx) => setPrice(tx, { prefix: "351", credits: 2 }, by),
    () => operator.post(`${O}/prices`, { prefix: "351", credits: 3, version }),
  );
  const limits = await secondOf(
    (tx) => changeCarrier(tx, { carrierId, settings: { ...settings, window: 5 }, secrets, ...by }),
    () =>
      operator.call("PATCH", `${O}/carriers/${carrierId}`, { version: 1, settings: { window: 6 } }),
  );

  assert.deepEqual({ price, limits }, { price: "VERSION_CONFLICT", limits: "VERSION_CONFLICT" });
});

test("a carrier is paused and resumed, its settings and password are validated, and no answer has its password", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  await makeCarrier(console.db, { name: "acme", password: "sesam123", secrets: TEST_SECRETS });
  const read = async () =>
    (await operator.get(`${O}/carriers`))
      .json()
      .data.find(({ name }: { name: string }) => name === "acme");
  const { carrierId, version } = await read();

  const paused = await operator.post(`${O}/carriers/${carrierId}/pause`);
  assert.partialDeepStrictEqual(paused.json(), { isPaused: true, state: "paused" });
  assert.equal((await operator.post(`${O}/carriers/${carrierId}/resume`)).json().isPaused, false);
  const again = await operator.post(`${O}/carriers/${carrierId}/resume`);
  assert.partialDeepStrictEqual(again.json(), { isPaused: false, version: version + 2 });
  const logged = await operator.get(`${O}/audit?objectId=${carrierId}&action=carrier.changed`);
  assert.equal(logged.json().data.length, 2);
  const change = (body: object) => operator.call("PATCH", `${O}/carriers/${carrierId}`, body);
  assert.equal(
    (await change({ version, settings: { window: 5 } })).json().error.code,
    "VERSION_CONFLICT",
  );
  for (const beyond of [3_000_000_000, -3_000_000_000])
    assert.equal((await change({ version: beyond })).json().error.details[0]?.field, "version");
  const wrong = await change({ version: version + 2, settings: { window: "many", colour: "red" } });
  assert.deepEqual(
    wrong
      .json()
      .error.details.map(({ field }: { field: string }) => field)
      .toSorted(),
    ["settings.colour", "settings.window"],
  );
  for (const password of ["漢", "a\0b"]) {
    const refused = await change({ version: version + 2, settings: { colour: "red" }, password });
    assert.deepEqual(
      refused.json().error.details.map(({ field }: { field: string }) => field),
      ["password", "settings.colour"],
    );
  }
  const changed = await change({
    version: version + 2,
    settings: { window: 5 },
    password: "anderes1",
  });
  assert.partialDeepStrictEqual(changed.json(), {
    settings: { window: 5, host: "127.0.0.1" },
    hasPassword: true,
  });
  const here = { host: "127.0.0.1", system_id: "test" };
  assert.equal((await change({ version: version + 3, settings: here })).statusCode, 200);
  for (const elsewhere of [
    { host: "evil.example" },
    { port: 2 },
    { system_id: "other" },
    { tls_verify: false },
  ]) {
    const unproven = await change({ version: version + 4, settings: elsewhere });
    assert.equal(unproven.json().error.details[0].field, "password", JSON.stringify(elsewhere));
  }
  const moved = { version: version + 4, settings: { tls: true }, password: "anderes1".repeat(31) };
  assert.equal((await change(moved)).statusCode, 200);
  const tested = await operator.post(`${O}/carriers/${carrierId}/test`);
  assert.equal(tested.json().isBound, false);
  assert.match(tested.json().message, /127\.0\.0\.1:1/);
  const nobody = await operator.post(`${O}/carriers/${console.accountId}/pause`);
  assert.equal(nobody.json().error.code, "CARRIER_NOT_FOUND");
  const answers = [
    JSON.stringify(await read()),
    changed.body,
    (await operator.get(`${O}/audit`)).body,
  ];
  for (const answer of answers)
    for (const secret of ["sesam123", "anderes1"]) assert.equal(answer.includes(secret), false);

  await console.db.query(sql`
    update sessions set proven_at = proven_at - interval '11 minutes' where user_id = ${operator.userId}`);
  assert.equal((await change({ version: version + 5 })).json().error.code, "PROOF_REQUIRED");
  assert.equal((await operator.post(`${O}/carriers/${carrierId}/pause`)).statusCode, 200);
});

test("limits that were never set are shown with their defaults, also for a carrier with a TLS key", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const { cert, key } = selfSigned(["us"]);
  const tls = { tls: true, tls_cert: cert, tls_key: key };
  const settings = { window: 20, ...tls };
  await makeCarrier(console.db, { name: "with a key", settings, secrets: TEST_SECRETS });

  const { data } = (await operator.get(`${O}/carriers`)).json() as { data: Carrier[] };

  const carrier = data.find(({ name }) => name === "with a key");
  assert.partialDeepStrictEqual(carrier?.settings, {
    rate: 50,
    window: 20,
    in_doubt: "resend",
    tls_key: "[secret]",
  });
});

test("operators see a carrier's links, error codes, late receipts, doubts, reconnects, and why it is down", async () => {
  await using smsc = await startSmsc({
    answer: ({ recipient }) => (recipient.endsWith("2") ? "refuse" : "accept"),
    // The second receipt comes when the first one has already ended the message.
    receipts: { states: ["DELIVRD", "UNDELIV"] },
  });
  await using console = await startConsole({ settings: { ROLES: "api,sender,dashboard" } });
  const operator = await operatorOf(console);
  const A = `/console/accounts/${console.accountId}`;
  const carrierId = await makeCarrier(console.db, {
    name: "acme",
    settings: { port: smsc.port, enquire_link: "100ms", reconnect: "100ms-200ms" },
    secrets: TEST_SECRETS,
  });
  const seen = (what: string, isSo: (carrier: Carrier) => boolean) =>
    eventually(what, async () => {
      const { data } = (await operator.get(`${O}/carriers`)).json() as { data: Carrier[] };
      const carrier = data.find((each) => each.carrierId === carrierId);
      return carrier !== undefined && isSo(carrier) ? carrier : false;
    });
  const idle = await seen("it is bound, and answers", ({ links }) =>
    links.some(({ state, enquireLinkAt }) => state === "bound" && enquireLinkAt !== null),
  );
  assert.deepEqual([idle.refusals, idle.lateReceipts, idle.links[0]?.problem], [[], 0, null]);
  assert.ok(Math.abs(Date.parse(idle.links[0]?.enquireLinkAt ?? "") - Date.now()) < 60_000);

  await operator.post(`${O}/routes`, { prefix: "33", carrierIds: [carrierId] });
  for (const recipient of ["33612345671", "33612345672"])
    assert.equal((await operator.post(`${A}/messages`, { recipient, text: "x" })).statusCode, 202);
  const busy = await seen("both are counted", ({ refusals, lateReceipts }) =>
    Boolean(refusals.length && lateReceipts),
  );
  assert.deepEqual(busy.refusals, [{ carrierCode: "0x45", count: 1 }]);
  assert.equal(busy.lateReceipts, 1);
  assert.deepEqual(busy.sinceStart, { inDoubt: 0, reconnects: 0, throttled: 0 });

  smsc.answer("never");
  await operator.post(`${A}/messages`, { recipient: "33612345673", text: "x" });
  await smsc.submitArrived(3);
  smsc.answer("accept");
  smsc.dropConnections();
  const lost = await seen("both are counted", ({ sinceStart: { inDoubt, reconnects } }) =>
    Boolean(inDoubt && reconnects),
  );
  assert.deepEqual(lost.sinceStart, { inDoubt: 1, reconnects: 1, throttled: 0 });
  await console.db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    values (gen_random_uuid(), ${carrierId}, '{unknown}', '{}', clock_timestamp())`);
  assert.equal((await operator.get(`${O}/carriers`)).json().parkedReceipts, 1);

  await smsc.stop();
  const reason = "The carrier refused the connection (ECONNREFUSED).";
  await seen(
    "the reason is told in words",
    ({ state, links }) => state === "down" && links.some(({ problem }) => problem === reason),
  );
  const alerts = async ({ get }: Person) =>
    (await get(`${A}/stats/summary`)).json().alerts.map(({ kind }: { kind: string }) => kind);
  assert.deepEqual(await alerts(operator), ["carrier_down"]);
  assert.deepEqual(await alerts(await console.member("owner")), []);
});

test("a carrier shows the response time of its slowest link, and its most frequent refusals first", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const link = {
    bind: "simulator",
    state: "bound",
    since: new Date(),
    windowInUse: 0,
    submitsPerSecond: 0,
    receiptsPerSecond: 0,
    enquireLinkAt: null,
    problem: null,
  };
  const times = [null, { p50: 5, p99: 9 }, { p50: 200, p99: 900 }];
  const state = {
    state: "up",
    links: times.map((responseMs) => ({ ...link, responseMs })),
    lastHour: { since: null, refusals: { "0x08": 1, "0x58": 3, "0x45": 2 }, lateReceipts: 0 },
    counts: { inDoubt: 0, reconnects: 0, throttled: 0 },
  };
  await console.db.query(sql`
    insert into carrier_states (carrier_id, node_id, state, at)
    values (${SIMULATOR}, ${console.accountId}, ${JSON.stringify(state)}::jsonb, clock_timestamp())`);

  const { data } = (await operator.get(`${O}/carriers`)).json() as { data: Carrier[] };

  const simulator = data.find(({ carrierId }) => carrierId === SIMULATOR);
  assert.deepEqual(simulator?.responseMs, { p50Ms: 200, p99Ms: 900 });
  assert.deepEqual(
    simulator.refusals.map(({ carrierCode }) => carrierCode),
    ["0x58", "0x45", "0x08"],
  );
});

test("operators see the state of the queue, the nodes and the carriers", async () => {
  await using console = await startConsole({ settings: { ROLES: "api,sender,dashboard" } });
  const operator = await operatorOf(console);
  const A = `/console/accounts/${console.accountId}`;
  await operator.post(`${O}/carriers/${SIMULATOR}/pause`);
  await eventually("the sender has heard of the pause", async () => {
    const { data } = (await operator.get(`${O}/carriers`)).json();
    return data[0].state === "paused" && data[0].seenAt !== null;
  });
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await operator.post(`${A}/messages`, {
    recipient: "4915112345678",
    text: "later",
    sendAt: later,
  });

  const queue = (await operator.get(`${O}/queue`)).json();
  assert.partialDeepStrictEqual(queue, { scheduled: 1, webhooks: { waiting: 0 } });
  assert.deepEqual(
    queue.accounts.map(({ accountId }: { accountId: string }) => accountId),
    [console.accountId],
  );
  await using second = await startConsole({ db: console.db });
  const nodes = await eventually("both nodes have been heard of", async () => {
    const { data } = (await operator.get(`${O}/nodes`)).json();
    return data.length === 2 && data;
  });
  assert.partialDeepStrictEqual(nodes[0], {
    roles: ["api", "sender", "dashboard"],
    isStale: false,
  });
  assert.partialDeepStrictEqual(nodes[1], { roles: ["api", "dashboard"], isStale: false });
  assert.equal(second.publicUrl, console.publicUrl);
});

test("the queue lists the accounts with most waiting first, and a carrier shows only its own", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const [short, long] = [console.accountId, await console.createAccount()];
  const wish = { name: "slow", settings: { port: 1 }, secrets: TEST_SECRETS };
  const slow = await makeCarrier(console.db, wish);
  await console.db.query(sql`
    insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at)
    select gen_random_uuid(), q.account_id, q.carrier_id, date_trunc('second', now()) + q.due, now() + interval '1 day'
      from (values (${short}::uuid, ${SIMULATOR}::uuid, interval '-3 hours'), (${short}, ${SIMULATOR}, '1 hour'),
                   (${long}, ${SIMULATOR}, '-1 hour'), (${long}, ${slow}, '-2 hours'),
                   (${long}, ${slow}, '-1 hour')) as q (account_id, carrier_id, due)`);

  const queue = (await operator.get(`${O}/queue`)).json() as SuccessOf<
    ConsoleOperations["readQueue"]
  >;
  const { data } = (await operator.get(`${O}/carriers`)).json() as { data: Carrier[] };

  const own = queue.accounts.filter(({ accountId }) => [short, long].includes(accountId));
  assert.partialDeepStrictEqual(own, [
    { accountId: long, waiting: 3, scheduled: 0 },
    { accountId: short, waiting: 1, scheduled: 1 },
  ]);
  const [first = "", second = ""] = own.map(({ oldestDueAt }) => oldestDueAt ?? "");
  assert.equal(Date.parse(first) - Date.parse(second), 3_600_000);
  assert.equal(queue.oldestDueAt, second);
  assert.equal(data.find(({ carrierId }) => carrierId === slow)?.waiting, 2);
});

test("the audit log can be filtered by a time finer than a millisecond", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const [entry] = (await operator.get(`${O}/audit?limit=1`)).json().data;
  const finer = entry.at.replace("Z", "5Z");

  const before = (await operator.get(`${O}/audit?limit=1&before=${finer}`)).json().data;
  const after = (await operator.get(`${O}/audit?limit=1&after=${finer}`)).json().data;

  assert.deepEqual([before, after], [[entry], []]);
});

test("the audit log shows who did what, can be filtered by each field, and cannot be changed", async () => {
  const console = await shared.another();
  const operator = await operatorOf(console);
  const A = `/console/accounts/${console.accountId}`;
  const { keyId } = (
    await operator.post(`${A}/keys`, { name: "x", scopes: ["messages:send"] })
  ).json();
  await operator.post(`${A}/keys/${keyId}/revoke`);
  const read = async (query: string) =>
    (await operator.get(`${O}/audit?${query}`))
      .json()
      .data.map(({ action }: { action: string }) => action);

  assert.deepEqual(await read(`objectId=${keyId}`), ["key.revoked", "key.created"]);
  assert.deepEqual(await read(`action=key.created&accountId=${console.accountId}`), [
    "key.created",
  ]);
  assert.deepEqual((await read(`actor=user:${operator.userId}`)).slice(0, 2), [
    "key.revoked",
    "key.created",
  ]);
  assert.deepEqual(await read("before=2020-01-01T00:00:00Z"), []);
  assert.equal((await operator.get(`${O}/audit?accountId=x`)).statusCode, 422);
  const [entry] = (await operator.get(`${O}/audit?objectId=${keyId}`)).json().data;
  assert.partialDeepStrictEqual(entry, {
    actor: { kind: "user", name: "owner 1" },
    actorId: operator.userId,
    address: "127.0.0.1",
    accountName: "Example",
    objectId: keyId,
  });
  const csv = (await operator.get(`${O}/audit.csv?objectId=${keyId}`)).body.trimEnd().split("\r\n");
  assert.equal(csv.length, 3);
  await assert.rejects(console.db.query(sql`delete from audit_log`), /append-only/);
  const first = (await operator.get(`${O}/audit?limit=2`)).json();
  const second = (await operator.get(`${O}/audit?limit=2&cursor=${first.nextCursor}`)).json();
  const back = (await operator.get(`${O}/audit?limit=2&cursor=${second.previousCursor}`)).json();
  assert.deepEqual(back.data, first.data);
});
