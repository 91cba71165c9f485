import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { ErrorCode } from "#contract";
import { sql } from "#platform";
import { anyProblemOf, problemOf } from "../support/answers.ts";
import { startApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { rawRequest } from "../support/raw-http.ts";

const api = await startApi({ credits: 1_000, settings: { RATE_LIMIT_FAILED_AUTH: "100000" } });
await api.service.app.listen({ host: "127.0.0.1", port: 0 });
const { port } = api.service.app.server.address() as AddressInfo;
after(() => api[Symbol.asyncDispose]());

const good = JSON.stringify({ recipient: "4915112345678", text: "Hello" });
const auth = `Host: x\r\nX-API-Key: ${api.key}\r\n`;
const json = `${auth}Content-Type: application/json\r\n`;
const get = (headers: string) => `GET /v1/credits HTTP/1.1\r\n${headers}\r\n`;
const post = (headers: string, body = "") => `POST /v1/messages HTTP/1.1\r\n${headers}\r\n${body}`;

async function answer(...chunks: (string | Buffer)[]) {
  const given = await rawRequest(port, chunks);
  assert.ok(given, "the connection was closed without an answer");
  return given;
}

async function refused(code: ErrorCode, ...chunks: (string | Buffer)[]): Promise<void> {
  problemOf(await answer(...chunks), code);
}

test("a request over a socket is answered like any other", async () => {
  assert.equal((await answer(get(auth))).statusCode, 200);
  const sent = await answer(post(`${json}Content-Length: ${good.length}\r\n`, good));
  assert.equal(sent.statusCode, 202);
  assert.match(String(sent.headers["location"]), /^\/v1\/messages\//);
  const chunked = `${json}Transfer-Encoding: chunked\r\n`;
  const size = good.length.toString(16);
  assert.equal((await answer(post(chunked, `${size}\r\n${good}\r\n0\r\n\r\n`))).statusCode, 202);
  const expecting = `${json}Expect: 100-continue\r\nContent-Length: ${good.length}\r\n`;
  assert.equal((await answer(post(expecting), good)).statusCode, 202);
});

test("HTTP/1.0, a hundred headers, an absolute address and an odd Expect do no harm", async () => {
  assert.equal(
    (await answer(`GET /v1/credits HTTP/1.0\r\nX-API-Key: ${api.key}\r\n\r\n`)).statusCode,
    200,
  );
  const many = Array.from({ length: 100 }, (_, n) => `X-${n}: 1\r\n`).join("");
  assert.equal((await answer(get(auth + many))).statusCode, 200);
  assert.equal((await answer(`GET http://x/v1/credits HTTP/1.1\r\n${auth}\r\n`)).statusCode, 200);
  assert.equal((await answer(get(`${auth}Expect: miracles\r\n`))).statusCode, 200);
  assert.equal((await answer(get(`${auth}Connection: upgrade\r\nUpgrade: x\r\n`))).statusCode, 200);
});

test("input that is not HTTP is refused in the usual error format", async () => {
  await refused("REQUEST_INVALID", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n");
  await refused("REQUEST_INVALID", "hello\r\n\r\n");
  await refused("REQUEST_INVALID", "BREW /v1/credits HTTP/1.1\r\nHost: x\r\n\r\n");
  await refused("REQUEST_INVALID", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  await refused("REQUEST_INVALID", `GET /v1/credits HTTP/1.1\r\nX-API-Key: ${api.key}\r\n\r\n`);
  await refused("REQUEST_INVALID", get(`${auth}host: y\r\n`));
  await refused("REQUEST_INVALID", get("Host: x\r\nX-API-Key: a\0b\r\n"));
  await refused("REQUEST_INVALID", get("Host: x\r\nBad Header: 1\r\n"));
  await refused("REQUEST_INVALID", get("Host: x\r\n folded: 1\r\n"));
});

test("a CONNECT request is refused in the usual error format", async () => {
  const given = await answer("CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n");

  problemOf(given, "METHOD_NOT_ALLOWED");
  assert.equal(given.headers["allow"], "");
});

test("a body with a repeated or wrong length is refused, never read as the next request", async () => {
  const both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
  await refused("REQUEST_INVALID", post(json + both, "0\r\n\r\n"));
  await refused("REQUEST_INVALID", post(`${json}Content-Length: 5\r\nContent-Length: 6\r\n`, "{}"));
  await refused("REQUEST_INVALID", post(`${json}Content-Length: -1\r\n`, "{}"));
  await refused("REQUEST_INVALID", post(`${json}Transfer-Encoding: chunked\r\n`, "zz\r\n"));
});

test("a body in any transfer coding but chunked is refused, never read as if it were plain", async () => {
  const chunks = `${good.length.toString(16)}\r\n${good}\r\n0\r\n\r\n`;
  const coded = (...codings: string[]) =>
    post(json + codings.map((coding) => `Transfer-Encoding: ${coding}\r\n`).join(""), chunks);

  for (const coding of ["gzip, chunked", "chunked, chunked", "chunked, identity", "identity"])
    await refused("REQUEST_INVALID", coded(coding));
  await refused("REQUEST_INVALID", coded("gzip", "chunked"));
  assert.equal((await answer(coded("Chunked"))).statusCode, 202);
});

test("headers above 16 KiB are refused, including the address", async () => {
  await refused("HEADERS_TOO_LARGE", get(`${auth}X-Long: ${"a".repeat(17_000)}\r\n`));
  await refused("HEADERS_TOO_LARGE", get(`${auth}X-Long: ${"a".repeat(1_000_000)}\r\n`));
  await refused(
    "HEADERS_TOO_LARGE",
    `GET /v1/messages?reference=${"a".repeat(17_000)} HTTP/1.1\r\n${auth}\r\n`,
  );
});

test("a body above 1 MiB is refused as soon as its size is known", async () => {
  await refused("BODY_TOO_LARGE", post(`${json}Content-Length: 10485760\r\n`));
  const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
  const chunks = Array.from({ length: 17 }, () => chunk);
  await refused("BODY_TOO_LARGE", post(`${json}Transfer-Encoding: chunked\r\n`), ...chunks);
});

/** A body of spaces, for as long as the server reads it. */
function* endless(head: string, total = Number.POSITIVE_INFINITY): Generator<string> {
  yield head;
  const chunk = head.includes("chunked") ? `10000\r\n${SPACES}\r\n` : SPACES;
  for (let written = 0; written < total; written += SPACES.length) yield chunk;
  if (head.includes("chunked")) yield "0\r\n\r\n";
}
const SPACES = " ".repeat(65_536);
const TEN_MIB = 10_485_760;

const large = {
  "of a length": `Content-Length: ${TEN_MIB}\r\n`,
  "in chunks": "Transfer-Encoding: chunked\r\n",
  "of a length, on a connection to be closed": `Connection: close\r\nContent-Length: ${TEN_MIB}\r\n`,
  "in chunks, on a connection to be closed": "Connection: close\r\nTransfer-Encoding: chunked\r\n",
};
for (const [kind, headers] of Object.entries(large)) {
  test(`a client that writes all of 10 MiB ${kind} before it reads still learns why it is refused`, async () => {
    const writeAll = (head: string) =>
      rawRequest(port, endless(head, TEN_MIB), { readsLast: true });

    const tooLarge = await writeAll(post(json + headers));
    assert.ok(tooLarge, "the answer was lost");
    problemOf(tooLarge, "BODY_TOO_LARGE");
    const stranger = await writeAll(
      post(`Host: x\r\nContent-Type: application/json\r\n${headers}`),
    );
    assert.ok(stranger, "the answer was lost");
    problemOf(stranger, "API_KEY_MISSING");
  });
}

test("a refused endless body is cut off, and none of it is kept", async () => {
  const before = octetsInUse();
  let written = 0;
  function* counted() {
    for (const chunk of endless(post(`${json}Transfer-Encoding: chunked\r\n`))) {
      written += chunk.length;
      yield chunk;
    }
  }

  await rawRequest(port, counted(), { readsLast: true });

  assert.ok(written < 100 * TEN_MIB, `${written} octets were taken`);
  await eventually("nothing of it is kept", async () => octetsInUse() - before < 3 * TEN_MIB);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Collects garbage first, of this test or of others, so that only memory in use counts. */
function octetsInUse(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

test("a stranger's large body is refused unread for its missing key", async () => {
  const unknown = "Host: x\r\nContent-Type: application/json\r\nContent-Length: 10485760\r\n";
  await refused("API_KEY_MISSING", post(unknown));
});

test("two pipelined requests are answered in order", async () => {
  const socket = connect(port, "127.0.0.1");
  socket.write(get(auth) + get("Host: x\r\nConnection: close\r\n"));

  const statuses = (await text(socket)).match(/(?<=HTTP\/1\.1 )\d+/g);

  assert.deepEqual(statuses, ["200", "401"]);
});

test("whatever bytes a client sends, it gets an answer in the usual format or is disconnected", async () => {
  const whole = post(`${json}Content-Length: ${good.length}\r\n`, good);
  const change = fc.record({
    at: fc.nat(whole.length),
    cut: fc.nat(20),
    put: fc.uint8Array({ maxLength: 8 }),
  });
  const octets = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(change, { minLength: 1, maxLength: 4 })
      .map((changes) =>
        changes.reduce(
          (text, { at, cut, put }) =>
            Buffer.concat([text.subarray(0, at), put, text.subarray(at + cut)]),
          Buffer.from(whole),
        ),
      ),
  );
  const many = fc.array(octets, { minLength: 25, maxLength: 25 });
  const property = fc.asyncProperty(many, async (requests) => {
    const answers = await Promise.all(
      requests.map((request) => rawRequest(port, [request], { isWhole: true })),
    );
    for (const given of answers) {
      if (given && given.statusCode !== 202) assert.ok(anyProblemOf(given).code !== "INTERNAL");
    }
  });
  await fc.assert(property, { numRuns: 8 });
  assert.equal((await answer(get(auth))).statusCode, 200);
});

/** Started here, so that their ten seconds pass while the tests below run. */
const slow = {
  headers: answer("POST /v1/messages HTTP/1.1\r\nHost: x\r\n"),
  body: answer(post(`${json}Content-Length: 100\r\n`, "{")),
};
const late = {
  headers: sentOnceRefused(lateSend("headers"), 40),
  body: sentOnceRefused(lateSend("body"), -20),
};
const second = {
  "was answered": statusesBehind(get(auth), ""),
  "was refused before its body came": statusesBehind(
    post("Host: x\r\nContent-Length: 2\r\n"),
    "{}",
  ),
};
for (const [what, given] of Object.entries(slow)) {
  test(`a client whose ${what} never come holds no slot for longer than about 10 seconds`, async () => {
    problemOf(await given, "REQUEST_TIMEOUT");
  });
}

for (const [what, statuses] of Object.entries(second)) {
  test(`a request that never comes behind one that ${what} gets a 408 too`, async () => {
    assert.deepEqual((await statuses).slice(1), ["408"]);
  });
}

for (const [what, ended] of Object.entries(late)) {
  test(`a message refused because its ${what} took too long is not accepted if they arrive later`, async () => {
    await ended;

    const stored = await api.db.query(sql`
      select message_id from messages where reference = ${`late ${what}`}`);
    assert.deepEqual(stored, []);
  });
}

/** Sends the rest of a request after its answer, together with the start of another. */
async function statusesBehind(first: string, rest: string): Promise<string[]> {
  const socket = connect(port, "127.0.0.1");
  socket.write(first);
  const [begun] = (await once(socket, "data")) as [Buffer];
  socket.write(`${rest}POST /v1/messages HTTP/1.1\r\nHost: x\r\n`);
  const answers = `${begun.toString()}${await text(socket)}`;
  return answers.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];
}

function lateSend(what: string): string {
  const body = JSON.stringify({ ...JSON.parse(good), reference: `late ${what}` });
  return post(`${json}Content-Length: ${body.length}\r\n`, body);
}

/** Sends the rest after the answer to the start, and waits until the connection ends. */
async function sentOnceRefused(request: string, startOctets: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(request.slice(0, startOctets));
  socket.once("data", () => socket.end(request.slice(startOctets)));
  await new Promise((resolve) => socket.once("close", resolve));
}

test("an incomplete request is not accepted, even if the part received is valid", async () => {
  const half = good.replace("Hello", "The half of it");
  const cut = {
    "one octet short": post(`${json}Content-Length: ${half.length + 1}\r\n`, half),
    "without its last chunk": post(
      `${json}Transfer-Encoding: chunked\r\n`,
      `${half.length.toString(16)}\r\n${half}\r\n`,
    ),
  };

  for (const [how, octets] of Object.entries(cut)) {
    const given = await rawRequest(port, [octets], { isWhole: true });
    assert.notEqual(given?.statusCode, 202, how);
  }

  const stored = await api.db.query(sql`
    select message_id from messages where text = 'The half of it'`);
  assert.deepEqual(stored, []);
});

test("a node without the API answers UNAVAILABLE with Retry-After, not 404", async () => {
  await using node = await startApi({ db: api.db, settings: { ROLES: "sender" } });
  for (const [method, url] of [
    ["GET", "/v1/credits"],
    ["POST", "/v1/messages"],
    ["GET", "/v1/messages/01890a5d-ac96-774b-bcce-b302099a8057"],
  ] as const) {
    const given = await node.inject({ method, url, headers: { "x-api-key": api.key } });
    assert.match(problemOf(given, "UNAVAILABLE").details[0]?.message ?? "", /ROLES/);
    assert.equal(given.headers["retry-after"], "1");
  }
});
