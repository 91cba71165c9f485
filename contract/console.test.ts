import assert from "node:assert/strict";
import { test } from "node:test";
import type { TObject, TSchema } from "typebox";
import Schema from "typebox/schema";
import {
  consoleOperations,
  type ConsoleOperation,
  type Operation,
  operations,
  webhookBodies,
} from "./index.ts";

const declared = Object.entries<ConsoleOperation>(consoleOperations);

test("every operation of the dashboard has a path of its own under /console", () => {
  const routes = declared.map(([, { method, path }]) => `${method} ${path}`);

  assert.equal(new Set(routes).size, routes.length);
  assert.deepEqual(
    routes.filter((route) => !/ \/console\/[a-z]/.test(route)),
    [],
  );
});

test("the declared parameters are exactly those that the path names", () => {
  for (const [name, { path, params }] of declared) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    assert.deepEqual(Object.keys(params?.properties ?? {}), named, name);
  }
});

test("an operation inside an account needs a role there, and one of the operator is the operator's alone", () => {
  for (const [name, { path, access }] of declared) {
    const inside = path.startsWith("/console/accounts/{accountId}");
    assert.equal(["viewer", "developer", "owner"].includes(access), inside, name);
    assert.equal(access === "operator", path.startsWith("/console/operator/"), name);
  }
});

test("every write declares what the audit log says of it, and no read does", () => {
  const silent = new Set(["readLink", "previewConsoleMessage"]);
  for (const [name, { method, audit }] of declared) {
    assert.equal(audit !== undefined, method !== "GET" && !silent.has(name), name);
  }
});

test("every body refuses unknown fields", () => {
  for (const [name, { body }] of declared) {
    if (body)
      assert.equal((body as { additionalProperties?: boolean }).additionalProperties, false, name);
  }
});

const text = (length: number) => "x".repeat(length);
const list = (length: number) => Array.from({ length }, () => "x");
const MILLIARD = 1_000_000_000;

/** Fields of requests, values at the limits of each, and values beyond. */
const limits: [string, string, unknown[], unknown[]][] = [
  ["completeSetup", "accountName", [text(1), text(60)], ["", text(61)]],
  ["joinAccount", "name", [text(1), text(60)], ["", text(61)]],
  ["updateMe", "name", [text(1), text(60)], ["", text(61)]],
  ["updateMe", "version", [0, 2_147_483_647], [-1, 2_147_483_648, 0.5]],
  ["createKey", "expiresInDays", [1, 3650, null], [0, 3651, 0.5]],
  ["createKey", "scopes", [["messages:send", "messages:read"]], [["messages:all"]]],
  ["rotateSigningSecret", "overlapHours", [0, 72], [-1, 73, 0.5]],
  ["startReplay", "deliveryIds", [list(1), list(100)], [[], list(101)]],
  ["sendTestEvent", "url", [text(2048)], [text(2049)]],
  ["sendTestEvent", "event", ["message.sent", "message.failed"], ["message.queued"]],
  ["updateAccount", "name", [text(1), text(60)], ["", text(61)]],
  ["updateAccount", "lowCredits", [0, MILLIARD], [-1, MILLIARD + 1]],
  ["changeRole", "role", ["viewer", "developer", "owner"], ["operator", null]],
  ["invite", "forWhom", ["", text(60)], [text(61)]],
  ["createAccount", "name", [text(1), text(60)], ["", text(61)]],
  ["createAccount", "credits", [0, MILLIARD], [-1, MILLIARD + 1, 0.5]],
  ["bookCredits", "kind", ["topup", "adjustment"], ["charge", "refund"]],
  ["bookCredits", "amount", [-MILLIARD, MILLIARD], [-MILLIARD - 1, MILLIARD + 1, 0.5]],
  ["bookCredits", "note", [text(1), text(200)], ["", text(201)]],
  ["bookCredits", "reference", [text(1), text(100)], ["", text(101)]],
  ["updateCarrier", "password", [text(1), text(255)], ["", text(256)]],
  ["setRoute", "prefix", ["", "4", "123456789012345"], ["+4", "1234567890123456", "a", null]],
  ["setRoute", "carrierIds", [list(1), list(10)], [[], list(11)]],
  ["setPrice", "credits", [0, 1_000_000], [-1, 1_000_001, 0.5]],
  ["findRoute", "recipient", [text(20)], [text(21)]],
  ["browseMessages", "limit", [1, 100], [0, 101, 1.5]],
  ["browseMessages", "sender", [text(20)], [text(21), "a\0"]],
  ["browseMessages", "reference", ["", text(128)], [text(129), "a\0"]],
  ["browseMessages", "recipient", ["1234567", " 123456789012345"], ["123456", "12-34567"]],
  ["browseMessages", "keyId", ["console"], ["", "consoles", "1"]],
  ["listDeliveries", "host", [text(300)], [text(301), "a\0"]],
  ["listDeliveries", "httpStatus", [100, 999], [99, 1000]],
  ["listLedger", "month", ["2026-01", "2026-12"], ["2026-00", "2026-13", "2026-1", "12026-01"]],
  ["listAudit", "action", [[text(60)]], [[text(61)], ["a\0"]]],
  ["readSummary", "zone", [text(64)], [text(65)]],
];

for (const [name, field, right, wrong] of limits) {
  test(`${field} of ${name} is taken up to its limits, and not beyond`, () => {
    const { body, query } = consoleOperations[name as keyof typeof consoleOperations] as {
      body?: TObject;
      query?: TObject;
    };
    const schema = (body ?? query)?.properties[field];
    assert.ok(schema);
    const compiled = Schema.Compile(schema);
    const checked = [...right, ...wrong].map((value) => compiled.Check(value));

    assert.deepEqual(checked, [...right.map(() => true), ...wrong.map(() => false)]);
  });
}

test("every list of the dashboard has pages of the same sizes", () => {
  for (const [name, { query }] of declared) {
    const { limit, cursor } = query?.properties ?? {};
    if (cursor) assert.equal(limit, consoleOperations.listKeys.query.properties.limit, name);
  }
});

test("every example matches its schema, including those of the API and of webhooks", () => {
  const check = (name: string, schema: TSchema | undefined) => {
    for (const example of (schema as { examples?: unknown[] } | undefined)?.examples ?? []) {
      const compiled = Schema.Compile(schema as TSchema);
      assert.ok(compiled.Check(example), `${name}: ${JSON.stringify(compiled.Errors(example))}`);
    }
  };
  for (const [name, { body, success }] of [...declared, ...Object.entries<Operation>(operations)]) {
    check(name, body);
    check(name, success.body);
  }
  for (const [name, body] of Object.entries(webhookBodies)) check(name, body);
});
