import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import {
  apiErrors,
  deliveryErrors,
  detailCodes,
  type ErrorCode,
  everywhere,
  type Operation,
  operations,
  openApi,
} from "#contract";
import { sql } from "#platform";
import { type AnyAnswer, problemOf } from "../support/answers.ts";
import { startApi } from "../support/api.ts";
import { held } from "../support/locks.ts";
import { rawRequest } from "../support/raw-http.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const api = await startApi({
  credits: 1,
  settings: { RATE_LIMIT_READS: "1", RATE_LIMIT_READS_BURST: "100" },
});
await api.service.app.listen({ host: "127.0.0.1", port: 0 });
const { port } = api.service.app.server.address() as AddressInfo;
after(() => api[Symbol.asyncDispose]());

const message = { recipient: "4915112345678", text: "Hello" };
type OperationName = keyof typeof operations;
type Provocation = { by: OperationName; answer: () => Promise<AnyAnswer> };

async function raw(text: string): Promise<AnyAnswer> {
  const answer = await rawRequest(port, [text]);
  assert.ok(answer);
  return answer;
}

/** Started here, because it takes ten seconds. */
const slowRequest = raw("POST /v1/messages HTTP/1.1\r\nHost: x\r\n");

/** One request per code, to an installation in which that is the correct answer. */
const provocations: Record<keyof typeof apiErrors, Provocation> = {
  JSON_INVALID: { by: "sendMessage", answer: () => api.send("{") },
  CURSOR_INVALID: { by: "listMessages", answer: () => api.get("/v1/messages?cursor=x") },
  IDEMPOTENCY_KEY_INVALID: {
    by: "sendMessage",
    answer: () => api.send(message, { headers: { "idempotency-key": "" } }),
  },
  REQUEST_INVALID: { by: "retrieveMessage", answer: () => api.get("/v1/messages/%zz") },
  API_KEY_MISSING: {
    by: "retrieveCredits",
    answer: () => api.inject({ method: "GET", url: "/v1/credits" }),
  },
  API_KEY_INVALID: {
    by: "sendBatch",
    answer: () => api.post("/v1/messages/batch", {}, { key: "x" }),
  },
  API_KEY_REVOKED: {
    by: "sendMessage",
    async answer() {
      const key = await api.createKey();
      await api.revoke(key.keyId);
      return api.send(message, key);
    },
  },
  API_KEY_EXPIRED: {
    by: "sendMessage",
    answer: async () => api.send(message, await api.createKey({ expiresAt: new Date(0) })),
  },
  CREDITS_INSUFFICIENT: {
    by: "sendMessage",
    answer: () => api.send({ ...message, text: "a".repeat(500) }),
  },
  API_KEY_SCOPE_DENIED: {
    by: "sendMessage",
    answer: async () => api.send(message, await api.createKey({ scopes: ["messages:read"] })),
  },
  MESSAGE_NOT_FOUND: { by: "retrieveMessage", answer: () => api.get("/v1/messages/x") },
  ROUTE_NOT_FOUND: { by: "listMessages", answer: () => api.get("/v1/nothing") },
  METHOD_NOT_ALLOWED: {
    by: "listMessages",
    answer: () => api.inject({ method: "DELETE", url: "/v1/messages" }),
  },
  REQUEST_TIMEOUT: { by: "sendMessage", answer: () => slowRequest },
  IDEMPOTENCY_KEY_REUSED: {
    by: "sendMessage",
    async answer() {
      const { key } = await api.createAccount(10);
      const headers = { "idempotency-key": "k" };
      await api.send(message, { key, headers });
      return api.send({ ...message, text: "Other" }, { key, headers });
    },
  },
  MESSAGE_NOT_CANCELABLE: {
    by: "cancelMessage",
    async answer() {
      const account = await api.createAccount(10);
      const { messageId } = (await api.send(message, account)).json();
      await api.db.query(sql`delete from send_queue where message_id = ${messageId}`);
      return api.post(`/v1/messages/${messageId}/cancel`, undefined, account);
    },
  },
  BODY_TOO_LARGE: { by: "sendMessage", answer: () => api.send(" ".repeat(1_048_577)) },
  CONTENT_TYPE_UNSUPPORTED: {
    by: "cancelMessage",
    answer: () =>
      api.post("/v1/messages/x/cancel", "x", { headers: { "content-type": "text/plain" } }),
  },
  VALIDATION_FAILED: { by: "previewMessage", answer: () => api.post("/v1/messages/preview", {}) },
  RECIPIENT_NOT_SERVED: {
    by: "sendBatch",
    async answer() {
      await using unrouted = await startApi();
      await unrouted.db.query(sql`delete from routes`);
      return await unrouted.post("/v1/messages/batch", { messages: [message] });
    },
  },
  PRICE_ABOVE_LIMIT: {
    by: "previewMessage",
    answer: () =>
      api.post("/v1/messages/preview", { ...message, text: "a".repeat(161), maxCredits: 1 }),
  },
  RATE_LIMITED: {
    by: "retrieveCredits",
    async answer() {
      const key = await api.createKey();
      const answers = await Promise.all(
        Array.from({ length: 120 }, () => api.get("/v1/credits", key)),
      );
      const last = answers.find(({ statusCode }) => statusCode === 429);
      assert.ok(last);
      return last;
    },
  },
  QUEUE_FULL: { by: "sendBatch", answer: fullQueue },
  HEADERS_TOO_LARGE: {
    by: "retrieveCredits",
    answer: () => raw(`GET /v1/credits HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(17_000)}\r\n\r\n`),
  },
  INTERNAL: {
    by: "listMessages",
    async answer() {
      await using broken = await startApi();
      await broken.db.query(sql`alter table messages rename to lost`);
      return await broken.get("/v1/messages");
    },
  },
  UNAVAILABLE: { by: "sendMessage", answer: databaseAway },
};

/** Holds the account's row, so that batches pile up until no more fit in memory. */
async function fullQueue(): Promise<AnyAnswer> {
  await using busy = await startApi({ credits: 0, settings: { RATE_LIMIT_SENDS_BURST: "100000" } });
  const batch = JSON.stringify({
    messages: Array.from({ length: 1_000 }, () => ({ ...message, text: "a".repeat(900) })),
  });
  return await held(busy.db, async (tx) => {
    await tx.query(sql`select from accounts for update`);
    const full = await new Promise<AnyAnswer>((resolve, reject) => {
      const posts = Array.from({ length: 40 }, async () => {
        const given = await busy.post("/v1/messages/batch", batch);
        if (given.statusCode === 429) resolve(given);
      });
      Promise.all(posts).then(() => reject(new Error("none was refused")), reject);
    });
    assert.equal(full.headers["retry-after"], "1");
    return full;
  });
}

async function databaseAway(): Promise<AnyAnswer> {
  const { hostname, port: databasePort } = new URL(api.db.url);
  await using proxy = await startTcpProxy({ host: hostname, port: Number(databasePort) });
  const url = new URL(api.db.url);
  url.port = String(proxy.port);
  await using node = await startApi({ db: { ...api.db, url: url.href } });
  proxy.refuse(true);
  proxy.cut();
  const answer = await node.send(message);
  assert.equal(answer.headers["retry-after"], "1");
  return answer;
}

for (const [code, { by, answer }] of Object.entries(provocations)) {
  test(`${code} is answered in its case, and declared by ${by}`, async () => {
    const given = await answer();

    problemOf(given, code as ErrorCode);
    const declared: readonly string[] = [...operations[by].errors, ...everywhere];
    assert.ok(declared.includes(code));
    const { responses } = documented(by);
    assert.match(responses[given.statusCode]?.description ?? "", new RegExp(`\`${code}\``));
    const told = responses[given.statusCode]?.headers ?? {};
    for (const name of ["Allow", "Retry-After", "WWW-Authenticate"]) {
      assert.equal(name in told, name.toLowerCase() in given.headers, name);
    }
  });
}

/** Codes that are the only one with their status: the document describes statuses. */
const ALONE = [
  "CREDITS_INSUFFICIENT",
  "API_KEY_SCOPE_DENIED",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "BODY_TOO_LARGE",
  "CONTENT_TYPE_UNSUPPORTED",
  "HEADERS_TOO_LARGE",
] as const;

for (const code of ALONE) {
  test(`${code} has the rate limit headers exactly if the document says so`, async () => {
    const { by, answer } = provocations[code];
    const { statusCode, headers } = await answer();

    const told = documented(by).responses[statusCode]?.headers ?? {};
    assert.equal("RateLimit-Limit" in told, "ratelimit-limit" in headers);
  });
}

type Documented = {
  description: string;
  parameters?: { name: string; in: string }[];
  requestBody?: unknown;
  responses: Record<string, { description: string; headers: object }>;
  "x-scope": string;
};
const document = openApi("1.0.0") as { paths: Record<string, Record<string, Documented>> };

function documented(name: OperationName): Documented {
  const { path, method } = operations[name];
  const found = document.paths[path]?.[method.toLowerCase()];
  assert.ok(found);
  return found;
}

test("each code has a page that explains what it means and what to do", async () => {
  const overview = await api.get("/docs/errors");
  for (const [code, { status, message, meaning, fix }] of Object.entries(apiErrors)) {
    const page = await api.get(`/docs/errors/${code}`);
    assert.equal(page.statusCode, 200, code);
    assert.match(page.body, new RegExp(`HTTP status ${status}`));
    assert.match(overview.body, new RegExp(`/docs/errors/${code}"`));
    for (const sentence of [message, meaning, fix]) assert.match(sentence, /[.:)`]$/);
  }
  const others = Object.keys({ ...detailCodes, ...deliveryErrors });
  for (const code of others) {
    const page = await api.get(`/docs/errors/${code}`);
    assert.equal(page.statusCode, 200, code);
    assert.match(page.body, /What it means.*What to do/s);
    assert.match(overview.body, new RegExp(`/docs/errors/${code}"`));
  }
  for (const code of ["nope", "__proto__", "constructor"]) {
    problemOf(await api.get(`/docs/errors/${code}`), "ROUTE_NOT_FOUND");
  }
});

test("each code is declared by some operation, and each operation declares only registered codes", () => {
  const declared = new Set<string>(everywhere);
  for (const { errors } of Object.values<Operation>(operations)) {
    for (const code of errors) declared.add(code);
  }

  assert.deepEqual([...declared].toSorted(), Object.keys(apiErrors).toSorted());
});

test("the document and the router have the same operations under /v1", async () => {
  const served = routesOf(api.service.app.printRoutes({ commonPrefix: false }))
    .filter((route) => route.includes(" /v1/") && !route.startsWith("HEAD"))
    .map((route) => route.replaceAll(/:(\w+)/g, "{$1}"));
  const told = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );

  assert.deepEqual(served.toSorted(), told.toSorted());
  assert.deepEqual((await api.get("/openapi.json")).json().paths, document.paths);
});

/** Converts the router's tree to lines such as `GET /path`. */
function routesOf(tree: string): string[] {
  const open: string[] = [];
  return tree.split("\n").flatMap((line) => {
    const [, indent = "", part = "", methods = ""] =
      /^(.*?)[├└]── (\S+)(?: \((.+)\))?$/.exec(line) ?? [];
    if (part === "") return [];
    open.splice(indent.length / 4, open.length, part);
    return methods.split(", ").map((method) => `${method} ${open.join("")}`);
  });
}

test("each operation in the document says which allowance a call counts against", () => {
  assert.match(documented("sendBatch").description, /Each message counts as a send of the account/);
  assert.match(documented("previewMessage").description, /Counts as a read of the key/);
});

test("each operation in the document names its scope, parameters, body and header", () => {
  assert.equal(documented("sendMessage")["x-scope"], "messages:send");
  assert.ok(documented("sendMessage").requestBody);
  const names = (name: OperationName) =>
    documented(name).parameters?.map((each) => each.name) ?? [];
  assert.deepEqual(names("sendMessage"), ["Idempotency-Key"]);
  assert.deepEqual(names("sendBatch"), ["Idempotency-Key"]);
  assert.deepEqual(names("listMessages"), [
    "limit",
    "cursor",
    "status",
    "recipient",
    "reference",
    "createdAfter",
    "createdBefore",
  ]);
  assert.deepEqual(names("cancelMessage"), ["messageId"]);
});
