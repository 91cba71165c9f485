import assert from "node:assert/strict";
import { test } from "node:test";
import type { TSchema } from "typebox";
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
