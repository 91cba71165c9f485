import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { findSigningSecrets } from "#accounts";
import { startSmsc } from "#carriers";
import { eventId } from "#messages";
import { createLog, rawSql, type SecretBox, secretBox, sql } from "#platform";
import type { Smsc } from "../../server/carriers/smsc.ts";
import { PASSWORD, startConsole } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import type { TestDatabase } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { type SendingWorld, startSending } from "../support/sending.ts";

/** Unique, so that nothing else contains it in any form. */
const TEXT = `Gruesse ${randomBytes(6).toString("hex")}`;
const NUMBER = "4915112345678";
const OTHER_NUMBERS = ["4915112340001", "4915112340002", "4915112340008", "4915199900000"];
const CARRIER_PASSWORD = "hush4321";
const TOKEN = randomBytes(8).toString("hex");

const GIVEN_UP = "a webhook was given up after its last attempt";
const lines: string[] = [];
const log = createLog("debug", { write: (line: string) => void lines.push(line) });
const secrets = new Map<string, string>();
let world: SendingWorld;
let strict: Smsc;
const started = new AsyncDisposableStack();

/** The whole run: every flow, above all the failing ones, at the most detailed log level. */
before(async () => {
  await using receiver = await startReceiver(({ path }) => (path.includes("bad") ? 500 : 200));
  strict = started.use(await startSmsc({ credentials: { systemId: "test", password: "another" } }));
  world = started.use(
    await startSending({
      smscs: [{ answer: "by_recipient" }],
      settings: [{ pdu_log: "full" }],
      api: { log, settings: { LOG_LEVEL: "debug" }, prepare: addRefused },
    }),
  );
  await sendGood(receiver.url);
  await sendBad();
  await provokeFaults();
  await useDashboard();
  await collectSecrets();
});
after(() => started.disposeAsync());

/** A carrier that refuses our password. */
async function addRefused(db: TestDatabase, box: SecretBox): Promise<void> {
  const settings = { port: strict.port, pdu_log: "full" };
  await makeCarrier(db, { name: "refused", settings, password: CARRIER_PASSWORD, secrets: box });
}

test("a refusal appears in the log with the request id of its answer", async () => {
  const answer = await world.api.get("/v1/messages?limit=no");
  const { requestId } = answer.json().error;

  const found = lines
    .map((line) => JSON.parse(line))
    .filter((each) => each.requestId === requestId);
  assert.partialDeepStrictEqual(found, [{ code: "VALIDATION_FAILED", path: "/v1/messages" }]);
});

test("an exhausted webhook is logged with its event, its host and its error class", () => {
  const told = JSON.parse(lines.find((line) => line.includes(GIVEN_UP)) ?? "{}");

  assert.equal(told.eventId, eventId(told.messageId, told.sequence));
  assert.deepEqual([told.host, told.class], ["127.0.0.1", "http_500"]);
});

async function sendGood(receiverUrl: string): Promise<void> {
  const callbackUrl = `${receiverUrl}?token=${TOKEN}`;
  for (const recipient of [NUMBER, ...OTHER_NUMBERS.slice(0, 3)]) {
    const { messageId } = await world.send({ recipient, text: TEXT, callbackUrl });
    await world.reached(messageId, "DELIVERED", "UNDELIVERED", "FAILED");
  }
  const { messageId } = await world.send({
    recipient: NUMBER,
    text: TEXT,
    callbackUrl: `${receiverUrl}/bad/${TOKEN}?token=${TOKEN}`,
  });
  await eventually("an attempt failed", async () => {
    const hurried = await world.api.db.query(sql`
      update webhook_deliveries
         set step = 6, next_at = clock_timestamp()
       where message_id = ${messageId} and step = 1
      returning message_id`);
    return hurried.length > 0;
  });
  await eventually("it is given up", async () => lines.some((line) => line.includes(GIVEN_UP)));
  await world.send({ recipient: NUMBER, text: TEXT, callbackUrl: "http://127.0.0.1:4/closed" });
}

async function sendBad(): Promise<void> {
  const { api } = world;
  const revoked = await api.createKey();
  await api.revoke(revoked.keyId);
  secrets.set("revoked key", revoked.key);
  await api.send({ recipient: NUMBER, text: TEXT }, { key: revoked.key });
  await api.send({ recipient: NUMBER, text: TEXT }, { key: `${api.key}x` });
  await api.send(`{"recipient": "${NUMBER}", "text": "${TEXT}`);
  await api.send({ recipient: `${NUMBER}x`, text: TEXT, txt: TEXT });
  await api.send({ recipient: NUMBER, text: TEXT.repeat(200) });
  await api.send({ recipient: NUMBER, text: TEXT, callbackUrl: `http://10.0.0.1/?t=${TOKEN}` });
  await api.get(`/v1/messages?recipient=${NUMBER}&cursor=nonsense`);
}

/** Database errors contain the row that failed, and its parameters. */
async function provokeFaults(): Promise<void> {
  const { api } = world;
  await api.db.query(
    rawSql(
      "alter table messages add constraint no_nines check (recipient !~ '99900000$') not valid",
    ),
  );
  const answer = await api.send({ recipient: OTHER_NUMBERS[3], text: TEXT });
  assert.equal(answer.statusCode, 500);
  const batch = {
    messages: [OTHER_NUMBERS[3], NUMBER].map((recipient) => ({ recipient, text: TEXT })),
  };
  assert.equal((await api.post("/v1/messages/batch", batch)).statusCode, 500);
}

async function useDashboard(): Promise<void> {
  await using site = await startConsole({ db: world.api.db, log });
  const operator = await site.member("owner", { isOperator: true });
  secrets.set("session", operator.cookie.split("=")[1] ?? "");
  const account = `/console/accounts/${site.accountId}`;
  await site
    .stranger()
    .post("/console/auth/sign-in", { email: operator.email, password: `${PASSWORD}!` });
  const key = { name: "shop", scopes: ["messages:send"] };
  const made = await operator.post(`${account}/keys`, key, { "idempotency-key": "a" });
  secrets.set("key made in the dashboard", (made.json() as { key: string }).key);
  await operator.post(`${account}/signing-secret/reveal`, {});
  await operator.post(`${account}/signing-secret/rotate`, { overlapHours: 24 });
  await operator.get(`${account}/messages?search=${NUMBER}`);
}

async function collectSecrets(): Promise<void> {
  const { api } = world;
  const accounts = await api.db.query<{ account_id: string }>(sql`select account_id from accounts`);
  const accountIds = accounts.map(({ account_id }) => account_id);
  const signing = await findSigningSecrets(api.db, {
    accountIds,
    secrets: secretBox(api.secretKey),
  });
  for (const { current, previous } of signing.values()) {
    secrets.set(`signing secret ${secrets.size}`, current);
    if (previous) secrets.set(`signing secret ${secrets.size}`, previous.secret);
  }
  secrets.set("key", api.key);
  secrets.set("carrier password", CARRIER_PASSWORD);
  secrets.set("user password", PASSWORD);
  secrets.set("SECRET_KEY", api.secretKey.toString("base64"));
  secrets.set("token of a callback address", TOKEN);
  secrets.set("message text", TEXT);
  for (const number of [NUMBER, ...OTHER_NUMBERS]) secrets.set(`number ${number}`, number);
}

test("a run with every kind of failure fills the log", async () => {
  await eventually("the refused bind is told", async () =>
    lines.some((line) => line.includes("refused")),
  );
  assert.ok(lines.some((line) => line.includes('"code":"INTERNAL"')));
  assert.ok(lines.length > 20, `${lines.length} lines`);
});

test("no line of that log has a key, secret, password, text or full number, in any encoding", () => {
  const all = lines.join("");
  const found = [...secrets].flatMap(([name, secret]) =>
    spellings(secret)
      .filter((spelled) => spelled.length > 5 && all.includes(spelled))
      .map((spelled) => `${name} as ${spelled}: ${lines.find((line) => line.includes(spelled))}`),
  );

  assert.deepEqual(found, []);
  assert.ok(secrets.size >= 15);
});

/** The secret itself, its bytes and its UTF-16 in hexadecimal, and base64. */
function spellings(secret: string): string[] {
  const utf16 = Buffer.from(secret, "utf16le").swap16();
  return [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("hex"),
    utf16.toString("hex"),
    Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -1),
  ];
}
