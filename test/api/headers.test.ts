import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { FastifyInstance } from "fastify";
import { silentLog, systemClock } from "#platform";
import { compose } from "../../server/compose.ts";
import { readConfig } from "../../server/config.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { rawRequest } from "../support/raw-http.ts";

let api: TestApi;
/** The same with a dashboard, served over https. */
let site: FastifyInstance;
let stop: () => Promise<void>;

before(async () => {
  api = await startApi();
  const folder = await mkdtemp(join(tmpdir(), "posthorn-pages-"));
  await writeFile(join(folder, "index.html"), "<!doctype html><title>Posthorn</title>");
  await writeFile(join(folder, "favicon.svg"), "<svg/>");
  const service = compose({
    config: readConfig({ ROLES: "api,dashboard", PORT: "0", DATA_DIR: folder }, folder),
    storage: { url: api.db.url, isEmbedded: true, stop: () => Promise.resolve() },
    secretKey: api.secretKey,
    publicUrl: "https://sms.example.com",
    clock: systemClock,
    log: silentLog,
    pages: () => Promise.resolve(folder),
  });
  site = service.app;
  stop = async () => {
    await service.stop();
    await rm(folder, { recursive: true });
  };
});
after(async () => {
  await stop();
  await api[Symbol.asyncDispose]();
});

/** Headers that differ between answers, and are no matter of security. */
const VARYING = new Set(["x-request-id", "date", "connection", "content-length", "keep-alive"]);

type Answer = { headers: Record<string, unknown> };

function headersOf({ headers }: Answer): Record<string, unknown> {
  const kept = Object.entries(headers).filter(([name]) => !VARYING.has(name));
  const steady = kept.map(([name, value]) => [
    name,
    String(value).replace(/'nonce-[^']+'/, "'nonce-…'"),
  ]);
  return Object.fromEntries(steady);
}

const ALL = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const HTML_TYPE = { "content-type": "text/html; charset=utf-8" };
const NOT_KEPT = { "cache-control": "no-store" };
const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const LIMITS = {
  "ratelimit-limit": "100",
  "ratelimit-remaining": "199",
  "ratelimit-reset": "1",
};

const expected: Record<string, Record<string, string>> = {
  "/healthz": { ...ALL, ...JSON_TYPE },
  "/readyz": { ...ALL, ...JSON_TYPE, ...NOT_KEPT },
  "/metrics": { ...ALL, "content-type": "text/plain; version=0.0.4; charset=utf-8" },
  "/openapi.json": { ...ALL, ...JSON_TYPE },
  "/docs": { ...ALL, ...HTML_TYPE, "content-security-policy": REFERENCE_POLICY },
  "/docs/errors/JSON_INVALID": {
    ...ALL,
    ...HTML_TYPE,
    "content-security-policy": REFERENCE_POLICY,
  },
  "/v1/credits": { ...ALL, ...JSON_TYPE, ...NOT_KEPT, ...LIMITS },
  "/v1/unknown": { ...ALL, ...JSON_TYPE, ...NOT_KEPT },
};

for (const [path, headers] of Object.entries(expected)) {
  test(`${path} has exactly the expected headers`, async () => {
    assert.deepEqual(headersOf(await api.get(path)), headers);
  });
}

test("a refusal is not cached and reveals no more than a success", async () => {
  const answer = await api.get("/v1/credits", { key: "sms_wrong" });

  assert.equal(answer.statusCode, 401);
  const challenge = { "www-authenticate": 'ApiKey realm="Posthorn"' };
  assert.deepEqual(headersOf(answer), { ...ALL, ...JSON_TYPE, ...NOT_KEPT, ...challenge });
});

test("requests refused before routing get the headers of every error", async () => {
  await api.service.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = api.service.app.server.address() as AddressInfo;

  const answers = [
    await api.get("/v1/messages/%zz"),
    await rawRequest(port, ["GET /v1/credits HTTP/1.1\r\nBad Header: 1\r\n\r\n"]),
  ];

  for (const answer of answers) {
    assert.equal(answer?.statusCode, 400);
    assert.deepEqual(headersOf(answer), { ...ALL, ...JSON_TYPE, ...NOT_KEPT });
  }
});

const OVER_HTTPS = { ...ALL, "strict-transport-security": "max-age=31536000" };

test("over https every answer has HSTS, and the dashboard's page runs only our own scripts", async () => {
  const page = await site.inject({ method: "GET", url: "/messages" });

  assert.equal(page.statusCode, 200);
  assert.deepEqual(headersOf(page), {
    ...OVER_HTTPS,
    ...HTML_TYPE,
    ...NOT_KEPT,
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-…'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  });
  const file = await site.inject({ method: "GET", url: "/favicon.svg" });
  assert.deepEqual(headersOf(file), {
    ...OVER_HTTPS,
    "content-type": "image/svg+xml",
    "cache-control": "no-cache",
    vary: "accept-encoding",
  });
  const missing = await site.inject({ method: "GET", url: "/assets/nothing.js" });
  assert.deepEqual(headersOf(missing), { ...OVER_HTTPS, ...JSON_TYPE, ...NOT_KEPT });
  const reading = await site.inject({ method: "GET", url: "/healthz" });
  assert.deepEqual(headersOf(reading), { ...OVER_HTTPS, ...JSON_TYPE });
});

test("only our own pages can read answers of the dashboard's own API", async () => {
  const answer = await site.inject({ method: "GET", url: "/console/auth/sessions" });

  assert.partialDeepStrictEqual(headersOf(answer), {
    ...OVER_HTTPS,
    ...NOT_KEPT,
    "cross-origin-resource-policy": "same-origin",
  });
});

test("no answer can be read by another site's page, or names the software we use", async () => {
  const origin = { origin: "https://evil.example", "access-control-request-method": "POST" };
  const answers = [
    await api.inject({ method: "OPTIONS", url: "/v1/messages", headers: origin }),
    await site.inject({ method: "OPTIONS", url: "/console/auth/sign-in", headers: origin }),
    await site.inject({ method: "GET", url: "/console/auth/sessions", headers: origin }),
    await api.inject({ method: "GET", url: "/v1/credits", headers: origin }),
  ];

  for (const { headers } of answers) {
    const names = Object.keys(headers);
    assert.deepEqual(
      names.filter((name) => /^access-control-|^server$|^x-powered-by$/.test(name)),
      [],
    );
  }
});
