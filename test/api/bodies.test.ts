import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "#platform";
import { problemOf, UUID_V7, wrongFields } from "../support/answers.ts";
import { startApi } from "../support/api.ts";

const api = await startApi({ credits: 1_000, settings: { RATE_LIMIT_FAILED_AUTH: "100000" } });
after(() => api[Symbol.asyncDispose]());

const message = { recipient: "4915112345678", text: "Hello" };
const good = JSON.stringify(message);

const post = (
  payload: string | Buffer,
  headers: Record<string, string> = {},
  url = "/v1/messages",
) =>
  api.inject({
    method: "POST",
    url,
    headers: { "x-api-key": api.key, "content-type": "application/json", ...headers },
    payload,
  });

test("every operation with a body answers JSON_INVALID to one that is not UTF-8 JSON", async () => {
  const bodies = [
    "",
    " ",
    "{",
    "{]",
    "{'a':1}",
    "{a:1}",
    `${good},`,
    `${good}${good}`,
    "undefined",
    "NaN",
    "\ufeff" + good,
    Buffer.from(good, "utf16le"),
    Buffer.from(`{"recipient":"4915112345678","text":"\xff"}`, "latin1"),
    Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d]),
    "[".repeat(500_000),
    `{"a":${"[".repeat(10_000)}`,
    "\0",
  ];
  for (const url of ["/v1/messages", "/v1/messages/batch", "/v1/messages/preview"]) {
    for (const body of bodies) problemOf(await post(body, {}, url), "JSON_INVALID");
  }
});

test("the detail says why a body could not be read", async () => {
  const said = async (body: string | Buffer) => {
    const { details } = problemOf(await post(body), "JSON_INVALID");
    const [detail] = details;
    assert.deepEqual([detail?.field, detail?.code], [null, "JSON_INVALID"]);
    return detail?.message ?? "";
  };
  assert.equal(await said(""), "The body is empty.");
  assert.equal(await said(Buffer.from([0x22, 0xff, 0x22])), "The body is not UTF-8.");
  assert.match(await said('{"recipient":"4915112345678" "text":"Hi"}'), /position 29/);
});

test("JSON that is not an object is refused as such", async () => {
  for (const body of ["null", "[]", '"text"', "5", "true", `[${good}]`, "1e999"]) {
    assert.deepEqual(wrongFields(await post(body)), { null: "FIELD_INVALID" });
  }
});

test("a value nested ten thousand levels deep is refused like any other wrong value", async () => {
  const deep = (open: string, close: string) => open.repeat(10_000) + "1" + close.repeat(10_000);
  for (const value of [deep("[", "]"), deep('{"a":', "}")]) {
    const fields = `"recipient":"4915112345678","text":"x"`;
    assert.deepEqual(wrongFields(await post(`{${fields},"metadata":{"a":${value}}}`)), {
      "metadata.a": "METADATA_INVALID",
    });
    assert.deepEqual(wrongFields(await post(`{${fields},"deep":${value}}`)), {
      deep: "FIELD_UNKNOWN",
    });
    assert.equal((await post(value)).statusCode, 422);
  }
});

test("of a field given twice the last one counts, both in validation and in what is stored", async () => {
  const answer = await post(`{"recipient":"1","text":"a","text":"b","recipient":"4915112345678"}`);

  assert.equal(answer.statusCode, 202);
  assert.partialDeepStrictEqual(answer.json(), { recipient: "4915112345678", text: "b" });
});

test("numbers out of range or not whole are refused", async () => {
  for (const value of ["1e999", "-1e999", "1e-999", "0.1", "9007199254740993", "-0"]) {
    const answer = await post(`{"recipient":"4915112345678","text":"x","maxCredits":${value}}`);
    assert.deepEqual(wrongFields(answer), { maxCredits: "MAX_CREDITS_INVALID" }, value);
  }
});

test("a body of 1 MiB is read, one byte more is refused", async () => {
  const padded = (size: number) => good + " ".repeat(size - good.length);

  assert.equal((await post(padded(1_048_576))).statusCode, 202);
  problemOf(await post(padded(1_048_577)), "BODY_TOO_LARGE");
  problemOf(await post("x".repeat(10_000_000)), "BODY_TOO_LARGE");
});

test("only uncompressed application/json in UTF-8 is read", async () => {
  for (const type of [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
  ]) {
    assert.equal((await post(good, { "content-type": type })).statusCode, 202, type);
  }
  for (const encoding of ["identity", "Identity"]) {
    assert.equal((await post(good, { "content-encoding": encoding })).statusCode, 202, encoding);
  }
  const others = [
    "text/plain",
    "application/xml",
    "application/jsonx",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
    "json",
    "*/*",
    ",",
  ];
  for (const type of others) {
    problemOf(await post(good, { "content-type": type }), "CONTENT_TYPE_UNSUPPORTED");
  }
  for (const encoding of ["gzip", "br", "deflate", "x"]) {
    problemOf(await post(good, { "content-encoding": encoding }), "CONTENT_TYPE_UNSUPPORTED");
  }
  const untyped = await api.inject({
    method: "POST",
    url: "/v1/messages",
    headers: { "x-api-key": api.key },
    payload: good,
  });
  problemOf(untyped, "CONTENT_TYPE_UNSUPPORTED");
});

test("an unknown path is 404 with or without a key, whatever is sent to it", async () => {
  const paths = [
    "/v1",
    "/v1/",
    "/v2/messages",
    "/v1/message",
    "/v1/messages/",
    "/v1/messages//events",
    "/v1/messages//cancel",
    "/v1/messages/x/y",
    "/v1/messages/x/events/1",
    "/v1/credits/",
    "/v1//messages",
    "/nope",
    "/console/nope",
    "/openapiXjson",
    "/v1/%6dessage",
  ];
  for (const url of paths) {
    for (const headers of [{}, { "x-api-key": api.key }, { "x-api-key": "sms_x" }]) {
      for (const payload of ["", "{", good]) {
        const typed = { ...headers, "content-type": "application/json" };
        problemOf(
          await api.inject({ method: "POST", url, headers: typed, payload }),
          "ROUTE_NOT_FOUND",
        );
      }
      problemOf(await api.inject({ method: "GET", url, headers }), "ROUTE_NOT_FOUND");
    }
  }
});

test("a known path with another method is 405 and names the methods it allows", async () => {
  const allowed = {
    "/v1/messages": "GET, HEAD, POST",
    "/v1/messages/batch": "POST",
    "/v1/messages/preview": "POST",
    "/v1/messages/019a85c2-5b00-7abc-8def-0123456789a0": "GET, HEAD",
    "/v1/messages/x/cancel": "POST",
    "/v1/credits": "GET, HEAD",
    "/healthz": "GET, HEAD",
  };
  for (const [url, methods] of Object.entries(allowed)) {
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"] as const) {
      for (const payload of ["", "{", good]) {
        const headers = { "content-type": "application/json" };
        const answer = await api.inject({ method, url, headers, payload });
        problemOf(answer, "METHOD_NOT_ALLOWED");
        const named = String(answer.headers["allow"]).split(", ").toSorted();
        assert.equal(named.join(", "), methods, url);
      }
    }
  }
});

test("a fixed path is never taken for a message id", async () => {
  for (const url of ["/v1/messages/batch", "/v1/messages/preview"]) {
    for (const method of ["GET", "HEAD"] as const) {
      const answer = await api.inject({ method, url, headers: { "x-api-key": api.key } });
      assert.equal(answer.statusCode, 405);
      assert.equal(answer.headers["allow"], "POST");
    }
  }
});

test("a malformed address is refused in the usual error format", async () => {
  for (const url of ["/v1/messages/%zz", "/%", "/v1/messages/%E0%A4%A"]) {
    problemOf(await api.get(url), "REQUEST_INVALID");
  }
});

test("every answer has its own request id, also outside /v1", async () => {
  const urls = [
    "/v1/credits",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/docs",
    "/metrics",
    "/nope",
    "/%",
  ];
  const ids = new Set<string>();
  for (const url of urls) {
    const answer = await api.inject({ method: "GET", url, headers: { "x-request-id": "chosen" } });
    assert.match(String(answer.headers["x-request-id"]), UUID_V7, url);
    ids.add(String(answer.headers["x-request-id"]));
  }
  assert.equal(ids.size, urls.length);
});

test("errors are checked in this order: key, scope, body, rate, credits", async () => {
  await using tight = await startApi({
    credits: 1,
    settings: {
      RATE_LIMIT_SENDS: "1",
      RATE_LIMIT_SENDS_BURST: "1",
      RATE_LIMIT_READS: "1",
      RATE_LIMIT_READS_BURST: "1",
    },
  });
  const reader = await tight.createKey({ scopes: ["messages:read"] });
  const send = (payload: string, key: string, headers: Record<string, string> = {}) =>
    tight.inject({
      method: "POST",
      url: "/v1/messages",
      headers: { "x-api-key": key, "content-type": "application/json", ...headers },
      payload,
    });
  const dear = JSON.stringify({ ...message, text: "a".repeat(500) });

  problemOf(await send("x".repeat(2_000_000), "sms_x"), "API_KEY_INVALID");
  problemOf(await send("x".repeat(2_000_000), reader.key), "API_KEY_SCOPE_DENIED");
  problemOf(await send("{", tight.key), "JSON_INVALID");
  problemOf(await send(dear, tight.key), "CREDITS_INSUFFICIENT");
  assert.equal((await send(good, tight.key)).statusCode, 202);
  assert.equal((await tight.get("/v1/credits")).statusCode, 200);
  for (const [ask, code] of [
    [() => send("{}", tight.key), "VALIDATION_FAILED"],
    [() => send(dear, tight.key), "RATE_LIMITED"],
    [() => tight.get("/v1/messages?limit=x"), "VALIDATION_FAILED"],
    [() => tight.get("/v1/messages/x"), "RATE_LIMITED"],
  ] as const) {
    await tight.db.query(sql`
      update accounts set send_tokens_at = clock_timestamp() + interval '1 hour'`);
    await tight.db.query(sql`
      update read_allowances set tokens_at = clock_timestamp() + interval '1 hour'`);
    problemOf(await ask(), code);
  }
});

test("an error inside a handler discloses nothing but that it was ours", async () => {
  const logged: object[] = [];
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (fields: object) => void logged.push(fields),
  };
  await using broken = await startApi({ log });
  await broken.db.query(sql`alter table messages rename column sender to secret_column`);

  const answers = [await broken.get("/v1/messages"), await broken.send(message)];

  for (const answer of answers) {
    const problem = problemOf(answer, "INTERNAL");
    assert.deepEqual(problem.details, []);
    assert.doesNotMatch(answer.body, /column|sender|select|postgres|\.ts\b/i);
  }
  assert.ok(
    logged.some((fields) => Object.hasOwn(fields, "requestId")),
    "it is logged once, for us",
  );
});

test("no refused request above stored or charged anything", async () => {
  const [row] = await api.db.query<{ messages: number; charged: number }>(sql`
    select (select count(*) from messages) as messages,
           (select -sum(amount) from ledger where kind = 'charge') as charged`);

  assert.deepEqual(row, { messages: 8, charged: 8 });
});
