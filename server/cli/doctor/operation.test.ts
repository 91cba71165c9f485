import assert from "node:assert/strict";
import { test } from "node:test";
import { type Queryable, Secret, systemClock } from "#platform";
import type { Check } from "./check.ts";
import { checkExposure } from "./exposure.ts";
import { checkServerSettings } from "./server-settings.ts";
import { checkCollector, checkPartitions, checkRetention, checkWebhooks } from "./upkeep.ts";

/** A database that answers every question with these rows. */
function answering(...rows: object[]): Queryable {
  return { query: <Row extends object>() => Promise.resolve(rows as Row[]) };
}

const HOME = {
  host: "127.0.0.1",
  publicUrl: undefined,
  trustProxy: [],
  metricsListen: undefined,
  databaseUrl: undefined,
  webhookAllowCidrs: undefined,
  webhookAllowHttp: undefined,
  webhookShowPrivateAnswers: undefined,
};
const RUN_FOR_REAL = {
  ...HOME,
  publicUrl: "https://sms.example.com",
  trustProxy: ["127.0.0.1/32"],
  databaseUrl: new Secret("postgres://db/posthorn"),
};

const EMBEDDED = { ...RUN_FOR_REAL, databaseUrl: undefined, webhookAllowHttp: false };

const sound: Record<string, Parameters<typeof checkExposure>[0]> = {
  "a trial installation": HOME,
  "one that listens on the whole of 127.0.0.0/8": { ...HOME, host: "127.1.2.3" },
  "one that listens on ::1": { ...HOME, host: "::1", publicUrl: "http://[::1]:8080" },
  "one that names localhost": { ...HOME, host: "localhost", publicUrl: "http://localhost:8080" },
  "one behind TLS": RUN_FOR_REAL,
  "one whose metrics have an address of their own": {
    ...RUN_FOR_REAL,
    host: "0.0.0.0",
    metricsListen: { host: "10.0.0.5", port: 9464 },
  },
  "one whose operator chose what to open": {
    ...RUN_FOR_REAL,
    webhookAllowCidrs: ["10.1.2.3/32", "10.2.0.0/16"],
    webhookShowPrivateAnswers: true,
  },
  "an embedded database behind TLS that calls no private address": {
    ...EMBEDDED,
    webhookAllowCidrs: [],
  },
  "an embedded database behind TLS that shows no private answers": {
    ...EMBEDDED,
    webhookAllowCidrs: ["10.1.2.3/32"],
    webhookShowPrivateAnswers: false,
  },
};

for (const [what, settings] of Object.entries(sound)) {
  test(`${what} is fine`, () => {
    assert.deepEqual(
      checkExposure(settings).filter(({ state }) => state !== "ok"),
      [],
    );
  });
}

const exposed: [string, string, Check["state"], Parameters<typeof checkExposure>[0]][] = [
  [
    "listening to all without a public address",
    "public address",
    "warning",
    { ...HOME, host: "0.0.0.0" },
  ],
  [
    "a public address without TLS",
    "public address",
    "warning",
    { ...RUN_FOR_REAL, publicUrl: "http://sms.example.com" },
  ],
  [
    "TLS in front that nobody is told of",
    "proxies",
    "warning",
    { ...RUN_FOR_REAL, trustProxy: [] },
  ],
  [
    "proxies that may be anybody",
    "proxies",
    "fault",
    { ...RUN_FOR_REAL, trustProxy: ["0.0.0.0/0"] },
  ],
  [
    "proxies that may be anybody with an IPv6 address",
    "proxies",
    "fault",
    { ...RUN_FOR_REAL, trustProxy: ["127.0.0.1/32", "::/0"] },
  ],
  ["metrics for all to see", "metrics", "warning", { ...RUN_FOR_REAL, host: "0.0.0.0" }],
  [
    "callbacks into a whole network",
    "webhook addresses",
    "warning",
    { ...RUN_FOR_REAL, webhookAllowCidrs: ["10.2.0.0/15"] },
  ],
  [
    "an installation to try things out whose callbacks reach a whole network",
    "webhook addresses",
    "warning",
    { ...HOME, webhookAllowCidrs: ["10.0.0.0/8"] },
  ],
  [
    "an embedded database behind TLS whose callbacks reach this machine",
    "webhook addresses",
    "warning",
    EMBEDDED,
  ],
  [
    "an embedded database open to a network whose callbacks go without TLS",
    "webhook addresses",
    "warning",
    { ...HOME, host: "0.0.0.0", webhookAllowCidrs: [] },
  ],
  [
    "callbacks without TLS",
    "webhook addresses",
    "warning",
    { ...RUN_FOR_REAL, webhookAllowHttp: true },
  ],
];

for (const [what, name, state, settings] of exposed) {
  test(`${what} is found`, () => {
    const wrong = checkExposure(settings);
    const findings = wrong.filter((finding) => finding.state !== "ok" && finding.name === name);
    assert.deepEqual(
      findings.map((finding) => finding.state),
      [state],
    );
    assert.notEqual(findings[0]?.fix, null);
  });
}

/** As much as three nodes need, and no more. */
const SERVER = {
  max_connections: 3 * 28 + 10,
  max_locks: 128,
  log_statement: "none",
  log_min_duration: -1,
  log_parameters: -1,
  log_errors: "terse",
  is_superuser: false,
};

for (const [what, name, server] of [
  ["one connection too few for the nodes", "connections", { ...SERVER, max_connections: 93 }],
  ["too few locks for all partitions", "locks", { ...SERVER, max_locks: 127 }],
  ["a database that logs what is sent", "database log", { ...SERVER, log_statement: "all" }],
  [
    "a database that logs the beginning of what is sent",
    "database log",
    { ...SERVER, log_statement: "all", log_parameters: 64 },
  ],
  ["a database that logs all it does", "database log", { ...SERVER, log_min_duration: 0 }],
  [
    "a database that logs slow statements whole",
    "database log",
    { ...SERVER, log_min_duration: 250 },
  ],
  [
    "a database that logs errors with their rows",
    "database log",
    { ...SERVER, log_errors: "default" },
  ],
  [
    "a superuser where an ordinary role would do",
    "database role",
    { ...SERVER, is_superuser: true },
  ],
] as const) {
  test(`${what} is found`, async () => {
    const found = await checkServerSettings(answering(server), { nodes: 3 });

    const findings = found.filter(({ state }) => state !== "ok").map((finding) => finding.name);
    assert.deepEqual(findings, [name]);
  });
}

test("a database with the right settings for its nodes is fine", async () => {
  const server = { ...SERVER, log_min_duration: 250, log_parameters: 0 };

  const found = await checkServerSettings(answering(server), { nodes: 3 });

  assert.ok(found.every(({ state }) => state === "ok"));
});

test("a database is asked for the connections of one node, even while none runs", async () => {
  const least = { ...SERVER, max_connections: 28 + 10 };
  const states = async (server: typeof SERVER) =>
    (await checkServerSettings(answering(server), { nodes: 0 })).map(({ state }) => state);

  assert.deepEqual(await states(least), ["ok", "ok", "ok", "ok"]);
  assert.deepEqual(await states({ ...least, max_connections: 37 }), ["warning", "ok", "ok", "ok"]);
});

test("partitions that run out are a fault, rows outside them a warning", async () => {
  const now = systemClock.now().getTime();
  const far = { parent: "messages", until: new Date(now + 40 * 86_400_000), has_strays: false };
  const stateWith = async (table: object) =>
    (await checkPartitions(answering(far, { ...far, ...table }), systemClock)).state;

  assert.equal(await stateWith({}), "ok");
  assert.equal(await stateWith({ has_strays: true }), "warning");
  assert.equal(await stateWith({ until: new Date(now + 23 * 3_600_000) }), "fault");
  assert.equal(await stateWith({ until: null }), "fault");
});

test("webhooks that wait while nobody delivers them are found", async () => {
  const clock = { ...systemClock, now: () => new Date(1_000_000) };
  const stateAt = async (lateMs: number) => {
    const backlog = { waiting: 3, oldestDueAt: new Date(1_000_000 - lateMs) };
    return (await checkWebhooks(answering(backlog), clock)).state;
  };
  const none = await checkWebhooks(answering({ waiting: 0, oldestDueAt: null }), clock);

  assert.deepEqual([await stateAt(300_000), await stateAt(299_999)], ["warning", "ok"]);
  assert.equal(none.state, "ok");
});

test("texts that would outlive their messages are found", () => {
  assert.equal(checkRetention({ retentionMessagesDays: 60, redactTextDays: 90 }).state, "warning");
  assert.equal(checkRetention({ retentionMessagesDays: 90, redactTextDays: 60 }).state, "ok");
  assert.equal(checkRetention({ retentionMessagesDays: 60, redactTextDays: 60 }).state, "ok");
  assert.equal(checkRetention({ retentionMessagesDays: 0, redactTextDays: 60 }).state, "ok");
});

test("a collector that does not answer is found", async () => {
  const away = await checkCollector({ tracesEndpoint: "http://127.0.0.1:1" });

  assert.equal(away.state, "warning");
  assert.equal((await checkCollector({ tracesEndpoint: undefined })).state, "ok");
});
