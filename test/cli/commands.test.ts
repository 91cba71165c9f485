import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startSmsc } from "#carriers";
import { secretBox, sql, within } from "#platform";
import { changeCarrier, removeCarrier } from "#sending";
import { selfSigned } from "../support/certificates.ts";
import { callPosthorn, type CliRun, posthornJson, startPosthorn, words } from "../support/cli.ts";
import { dataFolder } from "../support/data-folder.ts";
import { eventually } from "../support/eventually.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { type TestDatabase, testDatabase } from "../support/postgres.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** One database for the file: each test uses its own account or prefix. */
let db: TestDatabase;
let environment: Record<string, string>;

before(async () => {
  db = await testDatabase();
  environment = { DATABASE_URL: db.url, SECRET_KEY: Buffer.alloc(32, 3).toString("base64") };
});
after(() => db[Symbol.asyncDispose]());

function json<Json>(texts: TemplateStringsArray, ...inserts: (string | number)[]): Promise<Json> {
  return posthornJson<Json>(words(texts, ...inserts), { environment, run: callPosthorn });
}

function run(texts: TemplateStringsArray, ...inserts: (string | number)[]): Promise<CliRun> {
  return callPosthorn(words(texts, ...inserts), { environment });
}

type Account = { accountId: string; name: string; balance: number; signingSecret: string };

const UNKNOWN = "019a85c2-5b00-7abc-8def-0123456789ab";

test("an account is created with its credits and signing secret, and its changes are audited", async () => {
  const account = await json<Account>`account create --name ${"Acme Ltd"} --credits 50`;

  assert.deepEqual(Object.keys(account), ["accountId", "name", "balance", "signingSecret"]);
  assert.equal(account.balance, 50);
  assert.match(account.signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const { data } = await json<{ data: Account[] }>`account list`;
  const found = data.find(({ accountId }) => accountId === account.accountId);
  assert.partialDeepStrictEqual(found, { name: "Acme Ltd", balance: 50 });
  const audited = await db.query<{ action: string; actor: string }>(sql`
    select action, actor from audit_log where account_id = ${account.accountId} order by audit_id`);
  assert.deepEqual(audited, [
    { action: "account.created", actor: "cli" },
    { action: "credits.booked", actor: "cli" },
  ]);
});

test("an account whose first credits cannot be booked is not created", async () => {
  await db.query(sql`alter table ledger add constraint not_this_amount check (amount <> 4711)`);

  const { code } = await run`account create --name Penniless --credits 4711`;

  assert.equal(code, 1);
  assert.deepEqual(await db.query(sql`select from accounts where name = 'Penniless'`), []);
});

test("credits are added once per reference, and deducted, but never below zero", async () => {
  const { accountId } = await json<Account>`account create --name Purse`;
  const book = (amount: number) =>
    run`credits add --account ${accountId} --amount ${amount} --note ${"Invoice 17"} --reference ${amount}`;

  const booked = await book(25);
  const repeated = await book(25);
  const taken = await book(-24);
  const refused = await book(-2);
  const unseen =
    await run`credits add --account ${accountId} --amount 5 --note x --reference ${"\u200B"}`;

  assert.deepEqual(
    [booked, repeated, taken].map(({ stdout }) => JSON.parse(stdout)),
    [{ balance: 25 }, { balance: 25 }, { balance: 1 }],
  );
  assert.deepEqual(
    [refused.code, refused.stdout, refused.stderr],
    [1, "", "The account has 1 credits; 2 cannot be taken from it. Take at most 1.\n"],
  );
  assert.match(unseen.stderr, /--reference must hold something that can be seen/);
});

test("credits are booked once even if the answer to the commit is lost", async () => {
  const { accountId } = await json<Account>`account create --name Lost`;
  const line = words`credits add --account ${accountId} --amount 25 --note ${"Invoice 18"} --json`;

  const { code, stdout, stderr } = await withLostCommit(line);

  assert.deepEqual([code, stdout, stderr], [0, '{"balance":25}\n', ""]);
});

test("a booking with an unknown outcome prints what to add to repeat it safely", async () => {
  const { accountId } = await json<Account>`account create --name Gone`;
  const line = words`credits add --account ${accountId} --amount 25 --note ${"Invoice 19"} --json`;

  const { code, stderr } = await withLostCommit(line, { also: (proxy) => proxy.refuse(true) });
  const reference = /--reference (\S+) to book/.exec(stderr)?.[1] ?? assert.fail(stderr);
  const again = await callPosthorn([...line, "--reference", reference], { environment });

  assert.equal(code, 1);
  assert.equal(again.stdout, '{"balance":25}\n');
});

test("a command that may have taken effect although its answer was lost says where to check", async () => {
  const { accountId } = await json<Account>`account create --name Doubt`;
  const line = words`key create --account ${accountId} --name Shop --scope messages:send`;

  const { code, stderr } = await withLostCommit(line);

  assert.equal(code, 1);
  assert.match(stderr, /may have taken effect: check with npx posthorn key list before/);
});

test("a command that took effect but cannot show its result says where to check", async () => {
  await json`carrier add unseen --simulator`;

  const { code, stderr } = await held(db, async (tx) => {
    await tx.query(sql`lock table carrier_states in access exclusive mode`);
    return run`carrier pause unseen`;
  });

  assert.equal(code, 1);
  assert.match(
    stderr,
    /too busy or full: .* may have taken effect: check with npx posthorn carrier list/,
  );
  const paused = await db.query(sql`select from carriers where name = 'unseen' and paused`);
  await json`carrier remove unseen`;
  assert.equal(paused.length, 1);
});

type Loss = { commit?: string; also?: (proxy: TcpProxy) => void };

/** Runs a command whose commit arrives, but whose connection breaks before the answer. */
async function withLostCommit(line: string[], { commit = "commit\0", also }: Loss = {}) {
  const url = new URL(db.url);
  await using proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const isCommit = (chunk: Buffer) => chunk.includes(commit);
  const lost = proxy.clientSent(isCommit).then(async () => {
    proxy.withholdReplies();
    await proxy.replyWithheld();
    also?.(proxy);
    proxy.cut();
    proxy.release();
  });
  const ended = await callPosthorn(line, {
    environment: { ...environment, DATABASE_URL: url.href },
  });
  await lost;
  return ended;
}

test("a name too long for an account or a key is a usage error", async () => {
  const { accountId } = await json<Account>`account create --name Names`;
  const name = "n".repeat(61);

  const ofAccount = await run`account create --name ${name}`;
  const ofKey = await run`key create --account ${accountId} --name ${name} --scope messages:send`;

  for (const { code, stderr } of [ofAccount, ofKey]) {
    assert.equal(code, 2);
    assert.match(stderr, /^--name must have 1 to 60 characters\.\n/);
  }
});

test("a key is shown once, listed masked with its expiry, and revoked", async () => {
  const { accountId } = await json<Account>`account create --name Keys`;

  const key = await json<{ keyId: string; key: string }>`
    key create --account ${accountId} --name Shop --scope messages:send --scope messages:read --expires 90d`;
  const revoked = await json`key revoke ${key.keyId}`;
  const { data } = await json<{ data: Record<string, string>[] }>`key list --account ${accountId}`;

  assert.deepEqual(Object.keys(key), ["keyId", "key", "name", "scopes"]);
  assert.match(key.key, /^sms_[0-9A-Za-z]{36}$/);
  assert.partialDeepStrictEqual(revoked, { keyId: key.keyId, name: "Shop" });
  const [listed] = data;
  assert.partialDeepStrictEqual(listed, {
    key: `${key.key.slice(0, 8)}••••••••`,
    scopes: ["messages:send", "messages:read"],
    createdBy: "cli",
  });
  const livedMs = Date.parse(listed?.["expiresAt"] ?? "") - Date.parse(listed?.["createdAt"] ?? "");
  assert.equal(livedMs, 90 * 86_400_000);
  assert.ok(listed?.["revokedAt"]);
});

test("the signing secret is shown, and rotated with or without an overlap", async () => {
  const first = await json<Account>`account create --name Secrets`;
  const { accountId } = first;

  const shown = await json`account secret show --account ${accountId}`;
  const rotated = await json<Rotated>`account secret rotate --account ${accountId}`;
  const dropped = await json<Rotated>`account secret rotate --account ${accountId} --overlap 0`;

  assert.deepEqual(shown, { signingSecret: first.signingSecret, previousUntil: null });
  assert.notEqual(rotated.signingSecret, first.signingSecret);
  assert.ok(Date.parse(rotated.previousUntil ?? "") > Date.now() + 23 * 3_600_000);
  assert.equal(dropped.previousUntil, null);
});

test("a rotation within the overlap of the last one drops a secret still in use only if told to", async () => {
  const { accountId } = await json<Account>`account create --name Overlaps`;
  const first = await json<Rotated>`account secret rotate --account ${accountId}`;

  const refused = await run`account secret rotate --account ${accountId} --overlap 48`;
  const shown = await json<Rotated>`account secret show --account ${accountId}`;
  const confirmed =
    await json<Rotated>`account secret rotate --account ${accountId} --drop-previous`;

  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.ok(refused.stderr.includes(`signs until ${first.previousUntil}`), refused.stderr);
  assert.match(refused.stderr, /confirm with --drop-previous\.\n$/);
  assert.deepEqual(shown, first);
  assert.notEqual(confirmed.signingSecret, first.signingSecret);
});

type Rotated = { signingSecret: string; previousUntil: string | null };

test("prices and routes are set, listed and removed, each with an audit row", async () => {
  assert.deepEqual(await json`price set 49151 3`, { prefix: "49151", credits: 3 });
  assert.deepEqual(await json`route set +49151 simulator`, {
    prefix: "49151",
    carriers: ["simulator"],
  });

  const prices = await json<{ data: unknown[] }>`price list`;
  const routes = await json<{ data: unknown[] }>`route list`;
  await json`price remove 49151`;
  await json`route remove 49151`;
  const again = await run`route remove 49151`;

  assert.deepEqual(prices.data, [{ prefix: "49151", credits: 3 }]);
  assert.deepEqual(routes.data, [
    { prefix: "", carriers: ["simulator"] },
    { prefix: "49151", carriers: ["simulator"] },
  ]);
  assert.deepEqual(
    [again.code, again.stderr],
    [1, "No route is set for 49151. List them with: npx posthorn route list\n"],
  );
  const audited = await db.query<{ action: string }>(sql`
    select action from audit_log where object_id = '49151' order by action`);
  assert.deepEqual(
    audited.map(({ action }) => action),
    ["price.removed", "price.set", "route.removed", "route.set"],
  );
});

test("removing the last route warns that numbers are refused, and so does doctor", async () => {
  await json`route set 49152 simulator`;
  const usual = await run`route remove ${""}`;
  const last = await run`route remove 49152`;
  const { data } = await json<{ data: Finding[] }>`doctor`;
  const restored = await run`route set ${""} simulator`;

  assert.match(usual.stderr, /^Numbers with no other prefix are refused from now on/);
  assert.match(
    last.stderr,
    /^All numbers are refused from now on.*npx posthorn route set "" CARRIER\n$/,
  );
  assert.deepEqual([restored.code, restored.stderr], [0, ""]);
  const found = data.find(({ name }) => name === "routes");
  assert.deepEqual(
    [found?.state, found?.message],
    ["warning", "No number is served: there is no route."],
  );
});

test("pausing and resuming a carrier shows in its state and in the audit log", async () => {
  const { carrierId } = await json<{ carrierId: string }>`carrier add held --simulator`;

  const paused = await json`carrier pause held`;
  await json`carrier pause held`;
  const { data } = await json<{ data: { name: string; state: string }[] }>`carrier list`;
  const examined = await json<{ data: Finding[] }>`doctor`;
  const resumed = await json`carrier resume held`;
  await json`carrier remove held`;

  assert.deepEqual(paused, { carrierId, name: "held", state: "paused" });
  assert.equal(data.find(({ name }) => name === "held")?.state, "paused");
  const finding = examined.data.find((each) => each.name === "carrier held");
  const fix = "Resume it: npx posthorn carrier resume held";
  assert.partialDeepStrictEqual(finding, { state: "warning", fix });
  assert.deepEqual(resumed, { carrierId, name: "held", state: "unknown" });
  const audited = await db.query(sql`
    select actor, details -> 'after' ->> 'paused' as paused from audit_log
     where object_id = ${carrierId} and action = 'carrier.changed' order by audit_id`);
  assert.deepEqual(audited, [
    { actor: "cli", paused: "true" },
    { actor: "cli", paused: "false" },
  ]);
});

test("removing a carrier reports which routes ended and which carriers now get their numbers", async () => {
  const name = "Bob's second";
  const added = await run`carrier add ${name} --simulator`;
  await json`route set 49153 ${name}`;
  await json`route set 49154 ${name} simulator`;
  await json`route set 491531 simulator`;
  const shorter = await run`route remove 491531`;

  const removed = await run`carrier remove ${name}`;
  await json`route remove 49154`;

  assert.match(added.stderr, /: npx posthorn route set "" 'Bob'\\''s second'\n$/);
  assert.equal(
    shorter.stderr,
    "The route for 491531 is removed; its numbers now go to Bob's second, by the route for 49153.\n",
  );
  assert.match(
    removed.stderr,
    /^The route for 49153 is removed; its numbers now go to simulator, by the route for ""\.\nBob's second no longer simulates/,
  );
});

test("a carrier with waiting messages is removed only with --yes, and the refusal says how many they are", async () => {
  const { accountId } = await json<Account>`account create --name Waiting --credits 5`;
  const { carrierId } = await json<{ carrierId: string }>`carrier add busy --simulator`;
  await json`route set 49157 busy`;
  await json`send --account ${accountId} --to 4915712345678 --text Now`;
  await json`send --account ${accountId} --to 4915712345678 --text Later --send-at 2h`;

  const refused = await run`carrier remove busy`;
  const { data } = await json<{ data: { name: string }[] }>`carrier list`;
  const removed = await json`carrier remove busy --yes`;

  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^2 messages wait for busy\. .* confirm with --yes\.\n$/);
  assert.ok(data.some(({ name }) => name === "busy"));
  assert.deepEqual(removed, { carrierId, name: "busy", state: "removed" });
});

test("a route to a carrier removed meanwhile is not set", async () => {
  await json`carrier add leaving --simulator`;
  const [leaving] = await db.query<{ carrierId: string }>(sql`
    select carrier_id as "carrierId" from carriers where name = 'leaving'`);
  const change = { carrierId: leaving?.carrierId ?? "", actor: "test", now: new Date() } as const;

  const { setting } = await db.transaction(async (tx) => {
    await removeCarrier(within(tx), change);
    const begun = run`route set 49156 leaving`;
    await somebodyWaits(db);
    return { setting: begun };
  });

  const { code, stderr } = await setting;
  assert.deepEqual([code, stderr.split(".")[0]], [1, "There is no carrier leaving"]);
  assert.deepEqual(await db.query(sql`select from routes where prefix = '49156'`), []);
});

test("setting a route to a receive-only carrier warns that it takes no messages", async () => {
  const args = words`carrier add rx --smpp 127.0.0.1 --system-id x --bind receiver --password-stdin`;
  const added = await callPosthorn(args, { environment, input: "secret" });
  const routed = await run`route set 49155 rx`;
  const { stdout } = await run`doctor`;
  await run`route set 49155 rx simulator`;
  const served = await json<{ data: Finding[] }>`doctor`;
  await run`route remove 49155`;
  await json`carrier remove rx`;

  assert.match(added.stderr, /^It only receives: no messages are sent through it\.$/m);
  assert.equal(routed.stderr, "rx only receives: this route's messages need another carrier.\n");
  const { data } = JSON.parse(stdout) as { data: Finding[] };
  const message = 'The routes for "49155" name no carrier that can send messages.';
  assert.partialDeepStrictEqual(
    data.find(({ name }) => name === "routes"),
    { state: "fault", message, fix: "Set them again: npx posthorn route set PREFIX CARRIER" },
  );
  assert.equal(served.data.find(({ name }) => name === "routes")?.state, "ok");
});

test("a carrier that allows one bind tests as up while the service holds it, else the test says what to do", async () => {
  await using smsc = await startSmsc({ bind: 0x05 });
  const args = words`carrier add once --smpp ${`127.0.0.1:${smsc.port}`} --system-id x --password-stdin`;
  const added = await callPosthorn(args, { environment, input: "secret" });
  const { carrierId } = JSON.parse(added.stdout) as { carrierId: string };
  const lastHour = { since: null, refusals: {}, lateReceipts: 0 };
  const counts = { inDoubt: 0, reconnects: 0, throttled: 0 };
  const state = { state: "up", links: [{ state: "bound", problem: null }], lastHour, counts };
  await db.query(sql`
    insert into carrier_states (carrier_id, node_id, state, at)
    values (${carrierId}, ${UNKNOWN}, ${JSON.stringify(state)}::jsonb, clock_timestamp())`);

  const held = await run`carrier test once`;
  await db.query(sql`delete from carrier_states`);
  const taken = await run`carrier test once`;
  await json`carrier remove once`;

  assert.equal(held.code, 0);
  assert.match(held.stdout, /"state":"up","message":"The service holds the only bind that /);
  assert.equal(taken.code, 1);
  assert.match(taken.stdout, /"state":"down".*Another program uses this system id/);
  assert.equal(taken.stderr, `${JSON.parse(taken.stdout).message}\n`);
});

test("what no installation could carry out is a usage error, though each option alone is right", async () => {
  const { accountId } = await json<Account>`account create --name Odd`;

  const refused = [
    await run`webhook replay --account ${accountId}`,
    await run`listen --account ${accountId} --forward-to http://user:password@127.0.0.1/`,
    await run`key create --account ${accountId} --name k --scope messages:send --expires 0s`,
  ];

  assert.deepEqual(
    refused.map(({ code, stderr }) => [code, stderr]),
    [
      [2, "Say what to replay: the ID of a delivery, or --account ID --exhausted.\n"],
      [
        2,
        "--forward-to: The URL must not carry a user name or password; verify X-SMS-Signature instead.\n",
      ],
      [2, "The expiry must be in the future.\n"],
    ],
  );
});

test("one command cannot replay both a single delivery and all exhausted ones", async () => {
  const both = await run`webhook replay ${UNKNOWN} --account ${UNKNOWN} --exhausted`;
  const since = await run`webhook replay ${UNKNOWN} --since 24h`;

  assert.deepEqual([both.code, since.code], [2, 2]);
  assert.match(both.stderr, /^ID cannot be combined with --exhausted\.\n/);
  assert.match(since.stderr, /^--since cannot be combined with ID\.\n/);
});

test("a removed simulator is restored by the command that its removal prints", async () => {
  const removed = await run`carrier remove simulator`;
  const added = await json<{ carrierId: string }>`carrier add simulator --simulator`;
  const again = await run`carrier add simulator --simulator`;
  await json`route set ${""} simulator`;
  const mixed = await run`carrier add other --simulator --smpp 127.0.0.1 --window 5`;
  const { data } = await json<{ data: object[] }>`carrier list`;

  assert.match(removed.stderr, /npx posthorn carrier add simulator --simulator\n$/);
  assert.equal(again.stderr, "There is already a carrier simulator. Choose another name.\n");
  const { carrierId } = added;
  assert.partialDeepStrictEqual(data, [{ carrierId, name: "simulator", kind: "simulator" }]);
  assert.deepEqual(
    [mixed.code, mixed.stderr.split("\n").slice(0, 2)],
    [
      2,
      [
        "--smpp cannot be combined with --simulator.",
        "--window cannot be combined with --simulator.",
      ],
    ],
  );
});

test("a carrier's settings are changed and reset by name; all others stay", async () => {
  const args = words`carrier add acme --smpp 127.0.0.1:9 --system-id me --tls --password-stdin`;
  const added = await callPosthorn(args, { environment, input: "secret" });
  const changed = await json<{
    settings: object;
  }>`carrier set acme --window 20 --receipt-id hex_to_decimal`;
  const reset = await json<{ settings: object }>`carrier set acme --reset tls --reset receipt-id`;
  const wrong = await run`carrier set acme --window many`;
  const both = await run`carrier set acme --window 5 --reset window`;
  const nothing = await run`carrier set acme`;
  const removed = await run`carrier remove acme`;

  assert.equal(added.code, 0);
  const kept = { host: "127.0.0.1", system_id: "me", window: "20" };
  assert.partialDeepStrictEqual(changed.settings, {
    ...kept,
    tls: "on",
    receipt_id: "hex_to_decimal",
  });
  assert.partialDeepStrictEqual(reset.settings, kept);
  assert.ok(!("tls" in reset.settings) && !("receipt_id" in reset.settings));
  assert.match(wrong.stderr, /^--window /);
  assert.deepEqual(
    [both.code, both.stderr],
    [2, "--window cannot be combined with --reset window.\n"],
  );
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /^Say what to change/);
  assert.match(removed.stderr, /their messages stay SENT\.\n$/);
});

test("changing how receipts are matched says from which messages on it applies", async () => {
  const args = words`carrier add ruled --smpp 127.0.0.1:9 --system-id me --password-stdin`;
  await callPosthorn(args, { environment, input: "secret" });

  const changed = await run`carrier set ruled --receipt-id hex_to_decimal`;
  const same = await run`carrier set ruled --receipt-id hex_to_decimal --window 20`;
  const reset = await run`carrier set ruled --reset receipt-id`;
  await json`carrier remove ruled`;

  const told = /^The rule for receipts applies to messages submitted from now on; .*\n$/;
  assert.match(changed.stderr, told);
  assert.equal(same.stderr, "");
  assert.match(reset.stderr, told);
});

test("changing a carrier's settings never overwrites a concurrent change", async () => {
  const args = words`carrier add wanted --smpp 127.0.0.1:9 --system-id me --password-stdin`;
  await callPosthorn(args, { environment, input: "secret" });
  const [carrier] = await db.query<{ carrierId: string; settings: Record<string, unknown> }>(sql`
    select carrier_id as "carrierId", settings from carriers where name = 'wanted'`);
  assert.ok(carrier);
  const secrets = secretBox(Buffer.alloc(32, 3));
  const settings = { ...carrier.settings, rate: "5" };
  const change = { ...carrier, settings, secrets, actor: "test", now: new Date() } as const;

  const { setting } = await held(db, async (tx) => {
    await changeCarrier(within(tx), change);
    const begun = run`carrier set wanted --window 20`;
    await somebodyWaits(db);
    return { setting: begun };
  });

  const { code, stderr } = await setting;
  assert.deepEqual(
    [code, stderr.split(".")[0]],
    [1, "Someone else has changed wanted in the meantime"],
  );
});

test("a message sent from the terminal is charged, queued and audited, and a refused one leaves no trace", async () => {
  const { accountId } = await json<Account>`account create --name Sends --credits 2`;

  const message = await json`
    send --account ${accountId} --to +4915112345678 --text Hello --reference r1 --metadata {"a":"b"}`;
  const wrong = await run`send --account ${accountId} --to 12 --text ${" "}`;
  const poor = await run`send --account ${accountId} --to 4915112345678 --text ${"a".repeat(161)}`;

  assert.partialDeepStrictEqual(message, {
    recipient: "4915112345678",
    status: "QUEUED",
    credits: 1,
    reference: "r1",
    metadata: { a: "b" },
  });
  assert.deepEqual([wrong.code, poor.code], [1, 1]);
  assert.match(
    wrong.stderr,
    /^--to: A number has 7 to 15 digits.*\n--text: The text needs at least/,
  );
  assert.equal(
    poor.stderr,
    `It costs 2 credits; available: 1.\nAdd some with: npx posthorn credits add --account ${accountId} --amount N --note TEXT\n`,
  );
  assert.deepEqual(await json`credits show --account ${accountId}`, { balance: 1 });
  const audited = await db.query(sql`
    select actor from audit_log where account_id = ${accountId} and action = 'message.sent'`);
  assert.deepEqual(audited, [{ actor: "cli" }]);
});

test("a send with an unknown outcome prints what to add to repeat it safely", async () => {
  const { accountId } = await json<Account>`account create --name Sender --credits 10`;
  const line = words`send --account ${accountId} --to 4915112345678 --text Hello --json`;

  const { code, stderr } = await withLostCommit([...line, "--send-at", "2h"], {
    commit: "accept_messages(",
    also: (proxy) => proxy.refuse(true),
  });
  const advice = /--idempotency-key \S+ --send-at [^ ]+Z(?= to send)/.exec(stderr)?.[0] ?? "";
  const again = await callPosthorn([...line, ...advice.split(" ")], { environment });

  assert.equal(code, 1);
  assert.equal(again.code, 0, again.stderr);
  const stored = await db.query(sql`select from messages where account_id = ${accountId}`);
  assert.equal(stored.length, 1);
});

test("losing the database while a message is watched still reports that it was accepted", async () => {
  const { accountId } = await json<Account>`account create --name Watcher --credits 10`;
  const line = words`send --account ${accountId} --to 4915112345678 --text Hello --watch`;

  const { code, stderr } = await withLostCommit(line, {
    commit: "from submissions",
    also: (proxy) => proxy.refuse(true),
  });

  assert.equal(code, 1);
  const [stored] = await db.query<{ message_id: string }>(sql`
    select message_id from messages where account_id = ${accountId}`);
  assert.match(stderr, new RegExp(`accepted as ${stored?.message_id}, .* Do not send it again`));
});

test("the ledger is listed, newest first, each entry with the balance after it", async () => {
  const { accountId } = await json<Account>`account create --name Ledger --credits 5`;
  const { messageId } = await json<{ messageId: string }>`
    send --account ${accountId} --to 4915112345678 --text Hello`;

  const { data } = await json<{ data: object[] }>`credits list --account ${accountId}`;
  const newest = await json<{ data: object[] }>`credits list --account ${accountId} --limit 1`;

  assert.partialDeepStrictEqual(data, [
    { seq: 2, kind: "charge", amount: -1, balanceAfter: 4, messageId, note: null },
    { seq: 1, kind: "topup", amount: 5, balanceAfter: 5, messageId: null, actor: "cli" },
  ]);
  assert.deepEqual(newest.data, data.slice(0, 1));
});

test("sending from the terminal without a route says how to set one", async () => {
  const { accountId } = await json<Account>`account create --name Unserved --credits 2`;
  await json`route remove ${""}`;

  const { code, stderr } = await run`send --account ${accountId} --to 4915112345678 --text Hello`;
  await json`route set ${""} simulator`;

  assert.equal(code, 1);
  assert.match(stderr, /\nSet a route with: npx posthorn route set PREFIX CARRIER\n$/);
});

test("a scheduled message takes a time or a duration from now", async () => {
  type Sent = { createdAt: string; sendAt: string };
  const { accountId } = await json<Account>`account create --name Later --credits 2`;
  const at = new Date(Date.now() + 3_600_000).toISOString();

  const timed = await json<Sent>`
    send --account ${accountId} --to 4915112345678 --text Hello --send-at ${at}`;
  const waiting = await json<Sent>`
    send --account ${accountId} --to 4915112345678 --text Hello --send-at 2h`;
  const wrong = await run`send --account ${accountId} --to 12 --text Hello --send-at soon`;

  assert.equal(timed.sendAt, at);
  const waitMs = Date.parse(waiting.sendAt) - Date.parse(waiting.createdAt);
  assert.ok(Math.abs(waitMs - 7_200_000) < 60_000, `${waitMs}`);
  assert.match(wrong.stderr, /^--send-at must be a time such as .* or a duration such as 90d/);
});

test("an idempotency key that the API would refuse is a usage error that names the option", async () => {
  const { accountId } = await json<Account>`account create --name Keyed --credits 1`;

  for (const key of ["ü", "a".repeat(256)]) {
    const refused = await run`
      send --account ${accountId} --to 4915112345678 --text Hello --idempotency-key ${key}`;

    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /^--idempotency-key must have 1 to 255 printable ASCII characters/,
    );
  }
});

test("with --idempotency-key, --send-at must be a time: a duration would differ on each retry", async () => {
  const { accountId } = await json<Account>`account create --name Repeats --credits 2`;

  const refused = await run`
    send --account ${accountId} --to 4915112345678 --text Hello --send-at 2h --idempotency-key k`;

  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^With --idempotency-key, --send-at must be an ISO time\./);
  const { balance } = await json<Account>`credits show --account ${accountId}`;
  assert.equal(balance, 2);
});

test("a dashboard user is created with the password from standard input, and a weak one is refused", async () => {
  const { accountId } = await json<Account>`account create --name Users`;
  const args = words`user create --email ada@example.com --password-stdin --account ${accountId} --role owner --operator`;

  const weak = await callPosthorn(args, { environment, input: "secret\n" });
  const made = await posthornJson<{ userId: string }>(args, {
    environment,
    run: callPosthorn,
    input: "correct battery horse staple\n",
  });
  const again = await callPosthorn(args, { environment, input: "correct battery horse staple\n" });

  assert.deepEqual(
    [weak.code, weak.stderr],
    [1, "The password must have at least 12 characters.\n"],
  );
  assert.deepEqual(Object.keys(made), ["userId"]);
  const { data } = await json<{ data: { userId: string }[] }>`user list`;
  assert.deepEqual(
    data.find(({ userId }) => userId === made.userId),
    {
      ...made,
      name: "ada",
      email: "ada@example.com",
      isOperator: true,
      accounts: [{ accountId, name: "Users", role: "owner" }],
    },
  );
  assert.equal(again.code, 1);
  assert.match(again.stderr, /^There is already a user ada@example\.com\./);
});

test("a user gets a reset link; revoking an operator, but not the last, ends their sessions and links", async () => {
  const { accountId } = await json<Account>`account create --name Operators`;
  const input = "correct battery horse staple\n";
  for (const email of ["eve@example.com", "mallory@example.com"]) {
    const args = words`user create --email ${email} --password-stdin --account ${accountId} --role viewer --operator`;
    await posthornJson(args, { environment, run: callPosthorn, input });
  }
  const own = { ...environment, PUBLIC_URL: "https://sms.example.com" };
  for (const more of [[], ["--drop-second-factor"]]) {
    const args = [...words`user reset --email EVE@example.com`, ...more];
    const given = { environment: own, run: callPosthorn };
    const { link } = await posthornJson<{ link: string }>(args, given);
    assert.match(link, /^https:\/\/sms\.example\.com\/reset#token=.{43}$/);
  }
  const made = await db.query(sql`
    select drops_second_factor as drops from links where kind = 'reset' order by link_id`);
  assert.deepEqual(made, [{ drops: false }, { drops: true }]);
  await db.query(sql`
    insert into sessions (session_id, token_hash, user_id, is_pending, created_at, seen_at, proven_at)
    select gen_random_uuid(), sha256(email::bytea), user_id, false, now(), now(), now() from users where email like 'mallory%'`);
  await db.query(sql`
    update links set created_by = 'user:' || (select user_id from users where email like 'mallory%') where kind = 'reset'`);
  // Made as an operator: the user's role in the account does not allow inviting.
  await db.query(sql`
    insert into links (link_id, kind, token_hash, created_at, created_by, expires_at, account_id, role)
    select gen_random_uuid(), 'invitation', sha256('x'), now(), 'user:' || user_id, now() + interval '1 day', ${accountId}, 'owner'
      from users where email like 'mallory%'`);

  const set = (email: string, operator: string) =>
    run`user set --email ${email} --operator ${operator}`;
  const demoted = await set("mallory@example.com", "no");
  assert.equal(demoted.code, 0, demoted.stderr);
  assert.partialDeepStrictEqual(JSON.parse(demoted.stdout), { isOperator: false });
  const left = await db.query(sql`
    select (select count(*) from sessions) as sessions,
           (select count(*) from links where created_by like 'user:%' and withdrawn_at is null) as links`);
  assert.deepEqual(left, [{ sessions: 0, links: 0 }]);
  assert.equal((await set("mallory@example.com", "no")).code, 0, "again");

  const operators = await db.query<{ email: string }>(sql`
    select email from users where is_operator and email <> 'eve@example.com'`);
  for (const { email } of operators) assert.equal((await set(email, "no")).code, 0);
  const last = await set("eve@example.com", "no");
  assert.equal(last.code, 1);
  assert.match(last.stderr, /^eve@example\.com is the only operator\./);
  await set("mallory@example.com", "yes");
  // Both have seen each other before either can write.
  const { both } = await held(db, async (tx) => {
    await tx.query(sql`select from users for no key update`);
    const asked = ["eve@example.com", "mallory@example.com"].map((email) => set(email, "no"));
    await somebodyWaits(db, 2);
    return { both: Promise.all(asked) };
  });
  assert.deepEqual(new Set((await both).map(({ code }) => code)), new Set([0, 1]));
  assert.match(
    (await set("nobody@example.com", "no")).stderr,
    /^There is no user .* npx posthorn user list/,
  );
  const audited = await db.query<{ details: object }>(sql`
    select details from audit_log where action = 'user.operator_changed'`);
  assert.equal(audited.length, operators.length + 3);
  assert.deepEqual(audited[0]?.details, { before: true, after: false });
});

test("a user made an operator twice at once is so from the first, which alone is audited", async () => {
  const { accountId } = await json<Account>`account create --name Twice`;
  const args = words`user create --email twice@example.com --password-stdin --account ${accountId} --role viewer`;
  const input = "correct battery horse staple\n";
  const { userId } = await posthornJson<{ userId: string }>(args, {
    environment,
    run: callPosthorn,
    input,
  });

  const { both } = await held(db, async (tx) => {
    await tx.query(sql`select from users for no key update`);
    const make = () => run`user set --email twice@example.com --operator yes`;
    const asked = [make(), make()];
    await somebodyWaits(db, 2);
    return { both: Promise.all(asked) };
  });

  assert.deepEqual(
    (await both).map(({ code }) => code),
    [0, 0],
  );
  const audited = await db.query(sql`
    select details from audit_log where action = 'user.operator_changed' and object_id = ${userId}`);
  assert.deepEqual(audited, [{ details: { before: false, after: true } }]);
});

test("an interrupted command ends at once, even if the database is still working on its request", async () => {
  const code = await held(db, async (tx) => {
    await tx.query(sql`lock table ledger in access exclusive mode`);
    await using auditing = startPosthorn(["audit"], environment);
    await somebodyWaits(db);
    let ended: number | null | undefined;
    void auditing.stop("SIGINT").then((exitCode) => (ended = exitCode));
    return eventually("it ends, while the lock is still held", async () => ended ?? false);
  });

  assert.equal(code, 130);
});

test("a command interrupted before it begins does nothing", async () => {
  const { code } = await callPosthorn(words`account create --name Late`, {
    environment,
    stopSignal: () => AbortSignal.abort(),
  });

  assert.equal(code, 130);
  assert.deepEqual(await db.query(sql`select from accounts where name = 'Late'`), []);
});

test("audit finds nothing wrong after all these commands, then an unbooked credit; its exit code says so", async () => {
  const { violations, checked } = await json<{ violations: unknown[]; checked: object }>`audit`;

  const change = (by: number) =>
    db.query(sql`
      update accounts
         set balance = balance + ${by}
       where account_id = (select max(account_id::text)::uuid from accounts)`);
  await change(1);
  const wrong = await run`audit`;
  await change(-1);

  assert.deepEqual(violations, []);
  assert.ok("messages" in checked && "ledgerEntries" in checked);
  assert.equal(wrong.code, 1);
  assert.equal((JSON.parse(wrong.stdout) as { violations: unknown[] }).violations.length, 1);
});

test("audit asks what is left to do only with --drained", async () => {
  await db.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select gen_random_uuid(), carrier_id, array['late'], '{}', now() - interval '2 minutes'
      from carriers limit 1`);
  await db.query(sql`
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome, match_id)
    select message_id, 1, 1, account_id, (select carrier_id from parked_receipts), now(), 'refused', 'late'
      from messages limit 1`);

  const usual = await run`audit`;
  const drained = await run`audit --drained`;
  await db.query(sql`delete from submissions where match_id = 'late'`);
  await db.query(sql`delete from parked_receipts`);

  assert.deepEqual([usual.code, drained.code], [0, 1]);
  const { violations } = JSON.parse(drained.stdout) as { violations: { rule: string }[] };
  assert.deepEqual(
    violations.map(({ rule }) => rule),
    ["no parked receipt matches a submission"],
  );
});

test("an unknown account is refused, with the command that lists them", async () => {
  const { code, stdout, stderr } = await run`credits show --account ${UNKNOWN}`;

  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(
    stderr,
    `There is no account ${UNKNOWN}. List them with: npx posthorn account list\n`,
  );
});

test("a SECRET_KEY other than the service's is refused before anything is sealed, and doctor says so", async () => {
  const other = { ...environment, SECRET_KEY: Buffer.alloc(32, 4).toString("base64") };
  await json`account create --name Sealed`;

  const refused = await callPosthorn(words`account create --name x`, { environment: other });
  const doctor = await callPosthorn(["doctor"], { environment: other });

  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /is not the key that this database's secrets were sealed with/);
  await using folder = await dataFolder();
  const lost = { DATABASE_URL: db.url, DATA_DIR: folder.path };
  const keyless = await callPosthorn(words`account create --name Keyless`, { environment: lost });
  assert.match(keyless.stderr, /^There is no SECRET_KEY and no secret\.key .* Restore the key/);
  assert.deepEqual(await readdir(folder.path), [], "none is made");
  await writeFile(join(folder.path, "secret.key"), other.SECRET_KEY, { mode: 0o600 });
  const stale = await callPosthorn(["doctor"], {
    environment: { ...environment, DATA_DIR: folder.path },
  });
  const { data: found } = JSON.parse(stale.stdout) as { data: Finding[] };
  const key = found.find(({ name }) => name === "secret key");
  assert.equal(key?.state, "warning");
  assert.match(key.message, /secret\.key in .* has another/);
  assert.equal(doctor.code, 1);
  const { data } = JSON.parse(doctor.stdout) as { data: Finding[] };
  const faults = data.filter(({ state }) => state === "fault");
  assert.deepEqual(
    faults.map(({ name, fix }) => [name, fix]),
    [["secret key", "Restore the key that the secrets were sealed with."]],
  );
});

test("doctor finds no fault with a sound database", async () => {
  const { data } = await json<{ data: Finding[] }>`doctor`;

  assert.deepEqual(
    data.filter(({ state }) => state === "fault"),
    [],
  );
  assert.ok(data.some(({ name }) => name === "clock"));
});

test("doctor counts the connections of every living node, whatever its roles", async () => {
  await db.query(sql`
    insert into nodes (node_id, roles, host, pid, version, started_at, heard_at)
    select gen_random_uuid(), array[role], 'h', 1, 'v', now(), clock_timestamp() - age
      from (values ('api', interval '0'), ('webhooks', '0'), ('sender', '1 hour')) as n (role, age)`);

  const { data } = await json<{ data: Finding[] }>`doctor`;
  await db.query(sql`delete from nodes`);

  const { message = "" } = data.find(({ name }) => name === "connections") ?? {};
  assert.match(message, /^2 nodes may use/);
});

test("doctor accepts a carrier's TLS key, and says how to correct a wrong setting", async () => {
  await using folder = await dataFolder();
  const { cert, key } = selfSigned(["us"]);
  const [certFile, keyFile] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const args = words`carrier add sealed --smpp 127.0.0.1:9 --system-id me --tls --tls-cert ${certFile} --tls-key ${keyFile} --password-stdin`;
  await callPosthorn(args, { environment, input: "secret" });
  const find = async () => {
    const { stdout } = await run`doctor`;
    const { data } = JSON.parse(stdout) as { data: Finding[] };
    return data.find(({ name }) => name === "carrier sealed");
  };

  const right = await find();
  await db.query(sql`
    update carriers set settings = settings || '{"window": "many"}' where name = 'sealed'`);
  const wrong = await find();
  await json`carrier set sealed --window 20`;
  const corrected = await find();
  await json`carrier remove sealed`;

  assert.equal(right?.state, "ok");
  assert.equal(wrong?.state, "fault");
  assert.match(wrong.message, /^Its settings are wrong: window [^;]*\.$/);
  assert.equal(
    wrong.fix,
    "Correct that: npx posthorn carrier set sealed … (npx posthorn carrier set --help lists the options)",
  );
  assert.equal(corrected?.state, "ok");
});

test("doctor says that nobody sends, and why a carrier or a part of it is down", async () => {
  const args = words`carrier add ill --smpp 127.0.0.1:9 --system-id me --password-stdin`;
  const added = await callPosthorn(args, { environment, input: "secret" });
  const { carrierId } = JSON.parse(added.stdout) as { carrierId: string };
  const report = (state: "up" | "down", problem: string | null) =>
    db.query(sql`
      insert into carrier_states (carrier_id, node_id, state, at)
      values (${carrierId}, gen_random_uuid(), ${JSON.stringify({
        state,
        links: [{ bind: "transceiver", state: "bound", problem }],
        counts: { inDoubt: 0, reconnects: 0, throttled: 0 },
        lastHour: { since: null, refusals: {}, lateReceipts: 0 },
      })}::jsonb, clock_timestamp())`);
  const find = async (name: string) => {
    const { data } = JSON.parse((await run`doctor`).stdout) as { data: Finding[] };
    return data.find((each) => each.name === name);
  };

  await report("down", "the carrier is away");
  const down = await find("carrier ill");
  await report("up", null);
  const degraded = await find("carrier ill");
  const senders = await find("senders");
  await json`carrier remove ill`;

  assert.deepEqual([down?.state, down?.message], ["fault", "It is down: the carrier is away."]);
  assert.match(down?.fix ?? "", /^Fix that, or correct the carrier: npx posthorn carrier set ill /);
  assert.deepEqual(
    [degraded?.state, degraded?.message],
    ["warning", "Some of its binds are down: the carrier is away."],
  );
  assert.equal(senders?.state, "warning");
});

type Finding = { name: string; state: string; message: string; fix: string | null };

test("every wrong setting is named at once, whatever the command", async () => {
  const wrong = { ...environment, PORT: "x", LOG_LEVEL: "loud" };

  const { code, stderr } = await callPosthorn(["account", "list"], { environment: wrong });

  assert.equal(code, 1);
  assert.match(stderr, /^Wrong settings:\n {2}PORT: .*\n {2}LOG_LEVEL: /);
});

test("a database lacking migrations is refused with the command that applies them; one with newer ones is refused too", async () => {
  await using empty = await testDatabase({ isEmpty: true });
  const given = {
    environment: { ...environment, DATABASE_URL: empty.url },
    run: callPosthorn,
  };

  const refused = await callPosthorn(["account", "list"], given);
  const { applied } = await posthornJson<{ applied: string[] }>(["migrate"], given);
  const repeated = await posthornJson<{ applied: string[] }>(["migrate"], given);

  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /lacks 0001_.*Bring it up to date with: npx posthorn migrate\n$/);
  assert.equal(applied[0], "0001_accounts.sql");
  assert.deepEqual(repeated, { applied: [] });

  await empty.query(sql`insert into migrations (name) values ('9999_folders.sql')`);
  const refusedNewer = await callPosthorn(["migrate"], given);
  assert.equal(refusedNewer.code, 1);
  assert.match(
    refusedNewer.stderr,
    /^The database was migrated by a newer version of Posthorn \(9999/,
  );
});
