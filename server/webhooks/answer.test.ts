import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Answer, type Reading } from "./answer.ts";

const OK = "HTTP/1.1 200 OK\r\n";

/** Reads pieces until one decides the reading. */
function read(pieces: readonly Buffer[]): { answer: Answer; reading: Reading } {
  const answer = new Answer();
  let reading: Reading = "more";
  for (const piece of pieces) {
    reading = answer.read(piece);
    if (reading !== "more") break;
  }
  return { answer, reading };
}

function readText(text: string) {
  const { answer, reading } = read([Buffer.from(text, "latin1")]);
  const body = Buffer.concat(answer.kept).toString("latin1");
  return { reading, body, status: answer.status, isLast: answer.isLast, answer };
}

const complete = [
  `${OK}Content-Length: 2\r\n\r\nok`,
  `${OK}content-length:2 \r\nX-Empty:\r\n\r\nok`,
  `${OK}Transfer-Encoding: chunked\r\n\r\n1;a=b\r\no\r\n01 \r\nk\r\n0\r\nX-Trailer: 1\r\n\r\n`,
  `${OK}Transfer-Encoding: gzip, Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  `HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
  `HTTP/1.0 200\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok`,
];

for (const text of complete) {
  test(`an answer says the same however it is cut into pieces: ${JSON.stringify(text)}`, () => {
    const octets = Buffer.from(text, "latin1");
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: octets.length - 1 }));
    fc.assert(
      fc.property(cuts, (places) => {
        const sorted = [0, ...places.toSorted((a, b) => a - b), octets.length];
        const pieces = sorted.slice(1).map((end, n) => octets.subarray(sorted[n], end));

        const { answer, reading } = read(pieces);

        assert.equal(reading, "complete");
        assert.equal(answer.status, 200);
        assert.equal(answer.isLast, false);
        assert.equal(Buffer.concat(answer.kept).toString(), "ok");
      }),
    );
  });
}

test("whatever is sent, the reader decides or asks for more, and keeps no more than 2 KiB", () => {
  const words = fc.constantFrom(
    OK,
    "HTTP/1.1 ",
    "\r\n",
    "\n",
    ":",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "0\r\n\r\n",
    "fff\r\n",
    "a".repeat(5_000),
  );
  const piece = fc.oneof(words, fc.string()).map((text) => Buffer.from(text, "latin1"));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const { answer } = read(pieces);

      assert.ok(Buffer.concat(answer.kept).length <= 2_048);
    }),
  );
});

test("an answer without a length ends with its connection, and with nothing else", () => {
  const open = readText(`${OK}\r\nok`);
  const short = readText(`${OK}Content-Length: 9\r\n\r\nok`);
  const chunked = readText(`${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`);

  assert.deepEqual([open.reading, open.answer.readEnd(), open.isLast], ["more", "complete", true]);
  assert.deepEqual([short.reading, short.answer.readEnd()], ["more", "lost"]);
  assert.deepEqual([chunked.reading, chunked.answer.readEnd()], ["more", "lost"]);
});

test("a body is read in chunks only if that is the last of its codings, by its whole name", () => {
  const body = "2\r\nok\r\n0\r\n\r\n";
  const readings = ["gzip, chunked", "gzip,Chunked", "xchunked", "chunked, gzip"].map(
    (coding) => readText(`${OK}Transfer-Encoding: ${coding}\r\n\r\n${body}`).reading,
  );

  assert.deepEqual(readings, ["complete", "complete", "more", "more"]);
});

test("a 204 and a 304 have no body, whatever their headers say", () => {
  for (const status of [204, 304]) {
    const { reading, isLast } = readText(`HTTP/1.1 ${status} No\r\nContent-Length: 9\r\n\r\n`);

    assert.deepEqual([reading, isLast], ["complete", false]);
  }
});

test("the connection is not used again if the receiver says so, speaks 1.0, or says too much", () => {
  const answers = [
    `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`,
    `${OK}Connection: x, CLOSE\r\nContent-Length: 2\r\n\r\nok`,
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    `${OK}Content-Length: 2\r\n\r\nok!`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 500 Forged\r\n\r\n`,
  ];
  for (const text of answers) {
    const { reading, isLast, body } = readText(text);

    assert.deepEqual([reading, isLast, body], ["complete", true, "ok"], text);
  }
});

test("an answer that HTTP does not allow is broken, never guessed at", () => {
  const answers = [
    "HTTP/2 200 OK\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n",
    "HTTP/1.1 200 O\u0001K\r\n\r\n",
    `${OK}No colon\r\n\r\n`,
    `${OK}: no name\r\n\r\n`,
    `${OK}Space : before the colon\r\n\r\n`,
    `${OK}X-A: 1\r\n folded\r\n\r\n`,
    `${OK}X-A: bare\nX-B: line feed\r\n\r\n`,
    "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    `${OK}Content-Length: 0\r\n\n`,
    `HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\n`,
    `${OK}X-A: \u0000\r\n\r\n`,
    `${OK}X-A:\nX-B: 1\r\n\r\n`,
    `${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`,
    `${OK}Content-Length: 2, 2\r\n\r\nok`,
    `${OK}Content-Length: -2\r\n\r\nok`,
    `${OK}Content-Length: 0x2\r\n\r\nok`,
    `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\nok`,
  ];
  for (const text of answers) {
    const { reading } = readText(text);

    assert.ok(
      typeof reading === "object",
      `${JSON.stringify(text)} was read as ${JSON.stringify(reading)}`,
    );
  }
});

test("headers keep their values, including several of one name and strange names", () => {
  const { answer } = readText(
    `${OK}Content-Length: 0\r\nSet-Cookie: a\r\nset-cookie:  b \r\nSet-Cookie: c\r\n__proto__: d\r\nKeep-Alive: timeout=5, max=9\r\n\r\n`,
  );

  assert.deepEqual(answer.headers["set-cookie"], ["a", "b", "c"]);
  assert.equal(answer.headers["__proto__"], "d");
  assert.equal(answer.keepAliveMs, 5_000);
});
