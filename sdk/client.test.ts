import assert from "node:assert/strict";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { Posthorn, PosthornError, type PosthornOptions } from "./index.ts";
import { createTransport } from "./transport.ts";

const API_KEY = "sms_0123456789abcdefghijABCDEFGHIJ0123456";

type Seen = { method: string; url: string; headers: IncomingHttpHeaders; body: unknown };
type Answer = { status: number; body?: unknown; headers?: Record<string, string> } | "hang up";

/** A service that gives prepared answers in order, and records its requests. */
async function startService(...answers: Answer[]) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body: body === "" ? null : JSON.parse(body) });
    const answer = answers[seen.length - 1] ?? "hang up";
    if (answer === "hang up") return request.socket.destroy();
    response.writeHead(answer.status, answer.headers);
    return response.end(
      typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body),
    );
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    seen,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refusal(code: string, details: unknown = []) {
  return {
    error: { code, message: `It is ${code}.`, details, docUrl: "/docs/errors", requestId: "r-1" },
  };
}

/** Records waits instead of waiting. */
function transportTo(baseUrl: string, options: Partial<PosthornOptions> = {}) {
  const waits: number[] = [];
  const call = createTransport({ apiKey: API_KEY, baseUrl, ...options }, async (ms) => {
    waits.push(ms);
  });
  return { call, waits };
}

/** What an error says, as a plain object. */
async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    () => assert.fail("It should have failed."),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PosthornError, String(error));
  return Object.assign({ message: error.message, cause: error.cause }, error);
}

test("the scheme of a baseUrl may be in upper case", () => {
  assert.ok(new Posthorn({ apiKey: API_KEY, baseUrl: "HTTPS://sms.example.com" }));
});

test("a wrong baseUrl is refused when the client is made, with what would be right", () => {
  for (const baseUrl of ["sms.example.com", "ftp://sms.example.com", "http://", ""]) {
    assert.throws(
      () => new Posthorn({ apiKey: API_KEY, baseUrl }),
      /^TypeError: baseUrl must be an address such as https:\/\/sms.example.com, not /,
    );
  }
});

test("a baseUrl with a user, query or fragment is refused when the client is made, its password not shown", () => {
  for (const rest of [
    "user@localhost",
    ":secret@localhost",
    "localhost/?tenant=1",
    "localhost/#top",
  ])
    assert.throws(
      () => new Posthorn({ apiKey: API_KEY, baseUrl: `http://${rest}` }),
      /^TypeError: baseUrl must have no user name, password, query or fragment\.$/,
    );
});

test("a key that fits no header is refused when the client is made, and not shown", () => {
  for (const apiKey of ["sms_Ab3d••••••••", `${API_KEY}\n${API_KEY}`, "sms_ü"])
    assert.throws(
      () => new Posthorn({ apiKey, baseUrl: "http://localhost" }),
      /^TypeError: apiKey contains characters that no key has\. Pass the full key, as it was shown when created\.$/,
    );
  const fromFile = new Posthorn({ apiKey: `${API_KEY}\n`, baseUrl: "http://localhost" });
  assert.ok(fromFile, "a line end after it does no harm");
});

test("a send carries the key, the fields and an idempotency key of its own", async () => {
  await using service = await startService(
    { status: 202, body: { messageId: "m-1", status: "QUEUED" } },
    { status: 202, body: { messageId: "m-2", status: "QUEUED" } },
  );
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl });

  const message = await posthorn.messages.send({
    recipient: "4915112345678",
    text: "Hello",
    sendAt: new Date("2026-12-24T18:00:00Z"),
  });
  await posthorn.messages.send({ recipient: "4915112345678", text: "Hello" });

  assert.equal(message.messageId, "m-1");
  const [first, second] = service.seen;
  assert.partialDeepStrictEqual(first, {
    method: "POST",
    url: "/v1/messages",
    headers: { "x-api-key": API_KEY, "content-type": "application/json" },
    body: { recipient: "4915112345678", text: "Hello", sendAt: "2026-12-24T18:00:00.000Z" },
  });
  assert.match(String(first?.headers["idempotency-key"]), /^[0-9a-f-]{36}$/);
  assert.notEqual(first?.headers["idempotency-key"], second?.headers["idempotency-key"]);
});

test("every other operation calls its own path", async () => {
  const page = { data: [{ messageId: "m-1" }], nextCursor: null };
  await using service = await startService(
    { status: 202, body: { data: [{ messageId: "m-1" }] } },
    { status: 200, body: { credits: 1 } },
    { status: 200, body: { messageId: "m-1" } },
    { status: 200, body: { data: [{ type: "status" }] } },
    { status: 200, body: { messageId: "m-1" } },
    { status: 200, body: { balance: 7 } },
    { status: 200, body: page },
  );
  const { messages, credits } = new Posthorn({
    apiKey: API_KEY,
    baseUrl: `${service.baseUrl}/v1/`,
  });
  const message = { recipient: "4915112345678", text: "Hello" };

  assert.deepEqual(await messages.sendBatch([message], { idempotencyKey: "order-1" }), [
    { messageId: "m-1" },
  ]);
  assert.deepEqual(await messages.preview(message), { credits: 1 });
  assert.deepEqual(await messages.get("m-1"), { messageId: "m-1" });
  assert.deepEqual(await messages.events("../m 1"), [{ type: "status" }]);
  assert.deepEqual(await messages.cancel("m-1"), { messageId: "m-1" });
  assert.deepEqual(await credits.get(), { balance: 7 });
  assert.deepEqual(await messages.list().page(), page);

  assert.deepEqual(
    service.seen.map(({ method, url }) => `${method} ${url}`),
    [
      "POST /v1/messages/batch",
      "POST /v1/messages/preview",
      "GET /v1/messages/m-1",
      "GET /v1/messages/..%2Fm%201/events",
      "POST /v1/messages/m-1/cancel",
      "GET /v1/credits",
      "GET /v1/messages",
    ],
  );
  assert.equal(service.seen[0]?.headers["idempotency-key"], "order-1");
  assert.deepEqual(service.seen[0]?.body, { messages: [message] });
  for (const { headers, body } of service.seen)
    assert.equal(headers["content-type"], body === null ? undefined : "application/json");
});

test("a batch carries an idempotency key of its own: retried, it is sent and charged once", async () => {
  await using service = await startService("hang up", { status: 202, body: { data: [] } });

  await new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl }).messages.sendBatch([]);

  const keys = service.seen.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys.length, 2);
  assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
  assert.equal(keys[1], keys[0]);
});

test("for await iterates over all pages with the same filters", async () => {
  await using service = await startService(
    {
      status: 200,
      body: { data: [{ messageId: "m-3" }, { messageId: "m-2" }], nextCursor: "c+1" },
    },
    { status: 200, body: { data: [], nextCursor: "c2" } },
    { status: 200, body: { data: [{ messageId: "m-1" }], nextCursor: null } },
  );
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl });

  const ids: string[] = [];
  const filters = {
    limit: 2,
    status: ["SENT" as const, "DELIVERED" as const],
    createdAfter: new Date("2026-11-01T00:00:00Z"),
    // Programs in JavaScript leave a filter out like this.
    ...({ recipient: undefined } as object),
  };
  for await (const { messageId } of posthorn.messages.list(filters)) ids.push(messageId);

  assert.deepEqual(ids, ["m-3", "m-2", "m-1"]);
  const query = "limit=2&status=SENT&status=DELIVERED&createdAfter=2026-11-01T00%3A00%3A00.000Z";
  assert.deepEqual(
    service.seen.map(({ url }) => url),
    [
      `/v1/messages?${query}`,
      `/v1/messages?${query}&cursor=c%2B1`,
      `/v1/messages?${query}&cursor=c2`,
    ],
  );
});

test("leaving the loop early asks for no further page", async () => {
  await using service = await startService({
    status: 200,
    body: { data: [{ messageId: "m-2" }, { messageId: "m-1" }], nextCursor: "more" },
  });
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl });

  for await (const message of posthorn.messages.list()) {
    assert.equal(message.messageId, "m-2");
    break;
  }

  assert.equal(service.seen.length, 1);
});

test("a refusal becomes an error with its code, details and request id, and is not repeated", async () => {
  const details = [{ field: "recipient", code: "RECIPIENT_INVALID", message: "No such number." }];
  await using service = await startService({
    status: 422,
    body: refusal("VALIDATION_FAILED", details),
  });
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl });

  const error = await failure(posthorn.messages.send({ recipient: "1", text: "Hello" }));

  assert.partialDeepStrictEqual(error, {
    code: "VALIDATION_FAILED",
    status: 422,
    details,
    requestId: "r-1",
    docUrl: "/docs/errors",
    attempts: 1,
  });
  assert.match(error.message, /recipient: No such number\./);
  assert.equal(service.seen.length, 1);
  for (const status of [400, 401, 402, 403, 404, 405, 409, 413, 415]) {
    const answer = Response.json(refusal("REFUSED"), { status });
    const fetch = () => Promise.resolve(answer);
    const client = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl, fetch });
    assert.partialDeepStrictEqual(await failure(client.credits.get()), { status, attempts: 1 });
  }
});

test("the message of an error reads well, whatever its details say or lack", async () => {
  const none = { field: null, code: "CREDITS_INSUFFICIENT", message: "It takes 5." };
  for (const [details, message] of [
    [[none], "It is CREDITS_INSUFFICIENT. It takes 5."],
    ["It takes 5.", "It is CREDITS_INSUFFICIENT."],
  ] as const) {
    const answer = Response.json(refusal("CREDITS_INSUFFICIENT", details), { status: 402 });
    const fetch = () => Promise.resolve(answer);
    const client = new Posthorn({ apiKey: API_KEY, baseUrl: "http://localhost", fetch });

    assert.equal((await failure(client.credits.get())).message, message);
  }
});

test("temporary failures are retried with the very same key and body until one attempt succeeds", async (t) => {
  t.mock.method(Math, "random", () => 0.5);
  await using service = await startService(
    "hang up",
    { status: 503, body: refusal("UNAVAILABLE") },
    { status: 500, body: refusal("INTERNAL") },
    { status: 502, body: "<html>Bad gateway</html>" },
    { status: 202, body: { messageId: "m-1" } },
  );
  const { call, waits } = transportTo(service.baseUrl);

  const body = { recipient: "4915112345678", text: "Hello" };
  const answering = call({
    method: "POST",
    path: "/v1/messages",
    body,
    idempotencyKey: "order-1",
  });
  body.text = "The caller's next message";

  assert.deepEqual(await answering, { messageId: "m-1" });
  assert.equal(service.seen.length, 5);
  for (const seen of service.seen) {
    assert.equal(seen.headers["idempotency-key"], "order-1");
    assert.deepEqual(seen.body, { recipient: "4915112345678", text: "Hello" });
  }
  assert.deepEqual(waits, [375, 750, 1500, 3000], "between half of 0.5, 1, 2, 4 s and the whole");
});

test("each status that may pass is retried, and no other that refuses", async () => {
  for (const status of [408, 429, 500, 502, 503, 504]) {
    await using service = await startService({ status }, { status: 200, body: { balance: 7 } });
    const { call } = transportTo(service.baseUrl);

    assert.deepEqual(
      await call({ method: "GET", path: "/v1/credits" }),
      { balance: 7 },
      `${status}`,
    );
  }
});

test("an https address of a service without TLS is told what it lacks", async () => {
  await using service = await startService();
  const baseUrl = service.baseUrl.replace("http:", "https:");
  const { call } = transportTo(baseUrl, { maxRetries: 0 });

  const error = await failure(call({ method: "GET", path: "/v1/credits" }));

  assert.equal(error.code, "CONNECTION_FAILED");
  assert.equal(
    error.message,
    `${baseUrl} could not be reached: it does not speak TLS; try http://`,
  );
});

test("retries end after four or as many as asked for, and the error has the attempts and the key to repeat", async () => {
  for (const [options, attempts] of [
    [{}, 5],
    [{ maxRetries: 7 }, 8],
  ] as const) {
    await using service = await startService();
    const { call, waits } = transportTo(service.baseUrl, options);

    const sending = call({ method: "POST", path: "/v1/messages", idempotencyKey: "k" });

    assert.partialDeepStrictEqual(await failure(sending), {
      code: "CONNECTION_FAILED",
      status: null,
      attempts,
      idempotencyKey: "k",
    });
    assert.equal(service.seen.length, attempts);
    assert.ok(Math.max(...waits) <= 8_000, "the longest wait");
  }
});

test("Retry-After is honoured, and one that is too long is left to the caller", async () => {
  await using service = await startService(
    { status: 429, body: refusal("RATE_LIMITED"), headers: { "retry-after": "30" } },
    { status: 429, body: refusal("QUEUE_FULL"), headers: { "retry-after": "31" } },
  );
  const { call, waits } = transportTo(service.baseUrl);

  const error = await failure(call({ method: "GET", path: "/v1/credits" }));

  assert.deepEqual(waits, [30_000]);
  assert.partialDeepStrictEqual(error, {
    code: "QUEUE_FULL",
    retryAfterSeconds: 31,
    attempts: 2,
  });
});

const now = Date.parse("2026-11-15T09:30:00.700Z");

for (const [header, retryAfterSeconds] of [
  ["31.5", 31.5],
  ["-31", 0],
  ["Sun, 15 Nov 2026 09:30:45 GMT", 45],
  ["Sun, 15 Nov 2026 09:29:00 GMT", 0],
  ["soon", null],
  [" ", null],
] as const) {
  test(`a Retry-After of ${JSON.stringify(header)} means ${retryAfterSeconds} seconds, also from a proxy`, async (t) => {
    t.mock.method(Date, "now", () => now);
    const headers = { "retry-after": header };
    for (const body of [JSON.stringify(refusal("UNAVAILABLE")), "<html>Bad gateway</html>"]) {
      const { call } = transportTo("http://localhost", {
        maxRetries: 0,
        fetch: () => Promise.resolve(new Response(body, { status: 503, headers })),
      });

      const error = await failure(call({ method: "GET", path: "/v1/credits" }));

      assert.equal(error.retryAfterSeconds, retryAfterSeconds);
    }
  });
}

test("an attempt that gets no answer in time is given up and counted", async () => {
  await using silent = await startSilence();
  const { call } = transportTo(silent.baseUrl, { maxRetries: 1, timeoutMs: 20 });

  const error = await failure(call({ method: "GET", path: "/v1/credits" }));

  assert.partialDeepStrictEqual(error, { code: "TIMED_OUT", attempts: 2 });
});

test("an attempt is ended by the caller's signal and by its own limit of 30 s", async (t) => {
  const limit = new AbortController();
  const limited = t.mock.method(AbortSignal, "timeout", () => limit.signal).mock;
  const signals: (AbortSignal | null | undefined)[] = [];
  const posthorn = new Posthorn({
    apiKey: API_KEY,
    baseUrl: "http://127.0.0.1:1",
    maxRetries: 0,
    fetch(_url, request) {
      signals.push(request?.signal);
      return Promise.reject(new Error("Lost."));
    },
  });
  const callers = [new AbortController(), new AbortController()] as const;
  for (const { signal } of callers) await failure(posthorn.credits.get({ signal }));
  const ended = () => signals.map((signal) => signal?.aborted);

  callers[0].abort();
  assert.deepEqual(ended(), [true, false]);
  limit.abort();
  assert.deepEqual(ended(), [true, true]);
  assert.deepEqual(limited.calls[0]?.arguments, [30_000]);
});

test(
  "a signal ends a send at once, with its own reason and the key to repeat it with, whenever it comes",
  { timeout: 10_000 },
  async () => {
    const message = { recipient: "4915112345678", text: "Hello" };
    await using silent = await startSilence();
    const [running, enough] = [new AbortController(), new Error("Enough.")];
    const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: silent.baseUrl });
    const sending = failure(posthorn.messages.send(message, { signal: running.signal }));
    await silent.asked;
    running.abort(enough);
    const whileRunning = await sending;
    const before = await failure(posthorn.messages.send(message, { signal: running.signal }));

    await using busy = await startService({
      status: 429,
      body: refusal("RATE_LIMITED"),
      headers: { "retry-after": "20" },
    });
    const waiting = new AbortController();
    const client = new Posthorn({
      apiKey: API_KEY,
      baseUrl: busy.baseUrl,
      fetch: async (...request) => {
        const response = await fetch(...request);
        setImmediate(() => waiting.abort(enough));
        return response;
      },
    });
    const whileWaiting = await failure(client.messages.send(message, { signal: waiting.signal }));

    for (const [error, attempts] of [
      [before, 0],
      [whileRunning, 1],
      [whileWaiting, 1],
    ] as const) {
      assert.partialDeepStrictEqual(error, { code: "ABORTED", status: null, attempts });
      assert.equal(error.cause, enough);
      assert.match(error.message, /Enough/);
      assert.match(String(error.idempotencyKey), /^[0-9a-f-]{36}$/);
    }
    assert.equal(whileWaiting.idempotencyKey, busy.seen[0]?.headers["idempotency-key"]);
  },
);

test("a signal ends whichever call it was passed to", async () => {
  const signal = AbortSignal.abort();
  const { messages, credits } = new Posthorn({ apiKey: API_KEY, baseUrl: "http://127.0.0.1:1" });
  const message = { recipient: "4915112345678", text: "Hello" };

  for (const call of [
    messages.send(message, { signal }),
    messages.sendBatch([message], { signal }),
    messages.preview(message, { signal }),
    messages.list({}, { signal }).page(),
    messages.get("m-1", { signal }),
    messages.events("m-1", { signal }),
    messages.cancel("m-1", { signal }),
    credits.get({ signal }),
  ])
    assert.equal((await failure(call)).code, "ABORTED");
});

test("a redirect is not followed: the key never reaches another host", async () => {
  await using other = await startService({ status: 200, body: { balance: 1 } });
  await using service = await startService({
    status: 307,
    headers: { location: `${other.baseUrl}/v1/credits` },
  });
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl });

  const error = await failure(posthorn.credits.get());

  assert.partialDeepStrictEqual(error, { code: "ANSWER_UNREADABLE", status: 307 });
  assert.deepEqual(other.seen, []);
});

test("an answer that is not the service's is never taken for one", async () => {
  for (const body of ["", "<html>", "{", "null"]) {
    await using service = await startService({ status: 404, body });
    const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: service.baseUrl });
    assert.equal((await failure(posthorn.credits.get())).code, "ANSWER_UNREADABLE", body);
  }
  await using cut = await startService({
    status: 404,
    body: "{",
    headers: { "x-request-id": "r-7" },
  });
  const client = new Posthorn({ apiKey: API_KEY, baseUrl: cut.baseUrl });
  assert.equal((await failure(client.credits.get())).requestId, "r-7", "to find it in the logs");
  await using proxy = await startService({ status: 200, body: "<html>Log in</html>" });
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: proxy.baseUrl });
  assert.equal((await failure(posthorn.credits.get())).code, "ANSWER_UNREADABLE");
});

test("what cannot work is reported when the client is made or called, not after retries", () => {
  assert.throws(() => new Posthorn({ apiKey: "", baseUrl: "http://localhost" }), /apiKey/);
  assert.throws(() => new Posthorn({ apiKey: API_KEY, baseUrl: "localhost:8080" }), /baseUrl/);
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: "http://localhost" });
  for (const messageId of ["", ".", ".."])
    assert.throws(() => posthorn.messages.get(messageId), /messageId/);
});

test("a client is not made in a browser, where everyone could read the key", (t) => {
  Object.assign(globalThis, { document: {} });
  t.after(() => Reflect.deleteProperty(globalThis, "document"));

  assert.throws(() => new Posthorn({ apiKey: API_KEY, baseUrl: "http://localhost" }), /browser/);
});

test("an invalid time or number is refused instead of left out", async () => {
  const posthorn = new Posthorn({ apiKey: API_KEY, baseUrl: "http://localhost" });
  const message = { recipient: "4915112345678", text: "Hello" };

  const never = new Date("never");
  await assert.rejects(posthorn.messages.send({ ...message, sendAt: never }), /sendAt/);
  for (const maxCredits of [NaN, Infinity])
    await assert.rejects(posthorn.messages.sendBatch([{ ...message, maxCredits }]), /maxCredits/);
});

/** Accepts requests and never answers. */
async function startSilence() {
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    asked: asked.promise,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
