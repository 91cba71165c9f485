import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import type { TlsOptions, TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { DAY_MS } from "#platform";
import { makeAuthority, selfSigned } from "../../test/support/certificates.ts";
import { testEgress } from "../../test/support/egress.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { onRequests, type RawServer, startRawServer } from "../../test/support/raw-server.ts";
import { quiet, until } from "../../test/support/until.ts";
import { connectBudgets } from "./egress/connect.ts";
import { outcomeClass } from "./outcome.ts";
import { type Attempt, poster, type Poster } from "./post.ts";

// Receivers that do everything wrong. Each attempt must end in its own class, by the deadline, with
// its connection gone, and none may delay a healthy receiver. Time stands still unless a test
// advances it: what ends by itself needs no deadline, however slow the machine is.

type Hostile = {
  name: string;
  receive: (socket: Socket) => void;
  /** The expected class; null if the receiver's 2xx counts all the same. */
  expected: string | null;
  /** The date that the words must name. */
  day?: { words: string; date: Date };
  tls?: TlsOptions;
};

const authority = makeAuthority();
const EMPTY = Buffer.from("{}");
const lastWeek = {
  notBefore: new Date(Date.now() - 8 * DAY_MS),
  notAfter: new Date(Date.now() - DAY_MS),
};
const nextWeek = {
  notBefore: new Date(Date.now() + DAY_MS),
  notAfter: new Date(Date.now() + 8 * DAY_MS),
};
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

type Receive = Hostile["receive"];

/** Receivers that act as soon as they are connected to, by what they do. */
function connected(expected: string | null, receivers: Record<string, Receive>): Hostile[] {
  return Object.entries(receivers).map(([name, receive]) => ({ name, receive, expected }));
}

/** Receivers that act once they have the request. */
function asked(expected: string | null, replies: Record<string, Receive>): Hostile[] {
  const answers = connected(expected, replies);
  return answers.map((each) => ({ ...each, receive: answering(each.receive) }));
}

/** Receivers that would answer well if it were not for their TLS. */
function secured(expected: string, options: Record<string, TlsOptions>): Hostile[] {
  const receive = answering(write(OK));
  return Object.entries(options).map(([name, tls]) => ({ name, receive, tls, expected }));
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const LOCALHOST = { names: ["localhost"] };

const hostiles: Hostile[] = [
  ...connected("timeout", {
    "accepts and is silent": () => {},
    "reads and is silent": (socket) => socket.resume(),
  }),
  ...asked("timeout", {
    "drips its headers": drip("HTTP/1.1 200 OK\r\nX-Slow: ", "a"),
    "drips its status line": drip("HTTP/1.1 200 ", "a"),
    "drips 1xx answers": drip("", "HTTP/1.1 103 Early\r\n\r\n"),
    "drips its body": drip("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", "a"),
    "never ends a chunked body": write(`${CHUNKED}1\r\na\r\n`),
    "falls silent before 64 KiB of its body": write(`HTTP/1.1 200 OK\r\n\r\n${"a".repeat(65_535)}`),
  }),
  ...asked("headers_too_large", {
    "floods 1xx answers": flood("", "HTTP/1.1 103 Early\r\n\r\n"),
    "has a status line without end": flood("HTTP/1.1 200 ", "a"),
    "has headers without end": flood("HTTP/1.1 200 OK\r\n", "X-Flood: a\r\n"),
    "sends 17 KiB of headers": write(
      `HTTP/1.1 200 OK\r\nX-Large: ${"a".repeat(17 * 1024)}\r\nContent-Length: 0\r\n\r\n`,
    ),
    "has trailers without end": flood(`${CHUNKED}0\r\n`, "X-Flood: a\r\n"),
  }),
  ...asked(null, {
    "has a body without end": flood("HTTP/1.1 200 OK\r\n\r\n", "a"),
    "falls silent at 64 KiB of its body": write(`HTTP/1.1 200 OK\r\n\r\n${"a".repeat(65_536)}`),
    "announces 100 MB": flood("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", "a"),
    "has chunks that are all extension": flood(`${CHUNKED}1;`, "a"),
    "sends a gzip bomb": gzipBomb,
    "says 100 Continue unasked": write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`),
    "answers 204 with a body": write(
      "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\nunwelcome",
    ),
    "answers twice": write(OK + OK),
    "speaks HTTP/1.0 and closes": end("HTTP/1.0 200 OK\r\n\r\nok"),
  }),
  ...connected(null, { "answers before it was asked": (socket) => socket.write(OK) }),
  ...asked("http_500", {
    "fails with a body without end": flood("HTTP/1.1 500 No\r\n\r\n", "a"),
  }),
  ...connected("http_broken", {
    "speaks another protocol": (socket) => socket.write("SSH-2.0-OpenSSH_9.9\r\n"),
  }),
  ...asked("http_broken", {
    "answers with rubbish": write("\0\u00ff rubbish \r\n\r\n"),
    "ends its lines without CR": write("HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
    "contradicts itself about the length": write(
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    ),
    "switches protocols unasked": write(
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ),
  }),
  ...connected("connection_lost", {
    "closes before the request": (socket) => socket.destroy(),
    "resets amid the request": (socket) => socket.once("data", () => socket.resetAndDestroy()),
  }),
  ...asked("connection_lost", {
    "closes amid the headers": end("HTTP/1.1 200 OK\r\nX-Cut"),
    "closes amid the body": end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"),
  }),
  ...[301, 302, 303, 307, 308].flatMap((status) =>
    asked(`http_${status}`, {
      [`redirects with ${status} to the metadata service`]: write(
        `HTTP/1.1 ${status} Go\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n`,
      ),
    }),
  ),
  ...connected("tls_timeout", { "speaks no TLS": () => {} }),
  ...connected("tls_failed", {
    "answers TLS with HTTP": (socket) => socket.end("HTTP/1.1 400 Bad\r\n\r\n"),
    "closes during the TLS handshake": (socket) => socket.once("data", () => socket.destroy()),
  }),
  {
    name: "has an expired certificate",
    receive: answering(write(OK)),
    tls: authority.issue({ ...LOCALHOST, ...lastWeek }),
    day: { words: "CERT_HAS_EXPIRED: valid until ", date: lastWeek.notAfter },
    expected: "tls_certificate_expired",
  },
  {
    name: "has a certificate of next week",
    receive: answering(write(OK)),
    tls: authority.issue({ ...LOCALHOST, ...nextWeek }),
    day: { words: "CERT_NOT_YET_VALID: valid from ", date: nextWeek.notBefore },
    expected: "tls_certificate_expired",
  },
  ...secured("tls_certificate_name", {
    "has a certificate for another name": authority.issue({ names: ["other.example"] }),
  }),
  ...secured("tls_certificate_untrusted", {
    "has a self-signed certificate": selfSigned(["localhost"]),
    "has a certificate of an unknown authority":
      makeAuthority("Another authority").issue(LOCALHOST),
    "has a certificate that forges a known authority's name": makeAuthority().issue(LOCALHOST),
  }),
  ...secured("tls_failed", {
    "speaks TLS 1.1 at most": oldTls(),
    "exchanges keys by numbers of its own choice": finiteField(),
  }),
  {
    name: "renegotiates",
    receive: answering((socket) => (socket as TLSSocket).renegotiate({}, () => socket.write(OK))),
    tls: { ...authority.issue(LOCALHOST), maxVersion: "TLSv1.2" },
    expected: "connection_lost",
  },
  ...secured("connection_lost", {
    "demands a client certificate": {
      ...authority.issue(LOCALHOST),
      requestCert: true,
      rejectUnauthorized: true,
    },
  }),
];

/** Receivers without TLS that are called over https. */
const onTls = new Set([
  "speaks no TLS",
  "answers TLS with HTTP",
  "closes during the TLS handshake",
]);

const DEADLINE_MS = 10_000;

function newPoster(clock = manualClock()): Poster {
  const egress = testEgress({ certificates: [authority.cert] });
  return poster({ ...egress, clock, deadlineMs: DEADLINE_MS });
}

function startHostile({ receive, tls }: Hostile): Promise<RawServer> {
  return startRawServer(receive, tls === undefined ? {} : { tls });
}

function attack(
  sender: Poster,
  { hostile, server }: { hostile: Hostile; server: RawServer },
  hostKey: bigint,
): Promise<Attempt> {
  const scheme = hostile.tls !== undefined || onTls.has(hostile.name) ? "https" : "http";
  const url = `${scheme}://localhost:${server.port}/hook`;
  return sender.post({ hostKey, url, headers: {}, body: EMPTY });
}

test(
  "every hostile receiver ends in its own error class, and none keeps its connection",
  { timeout: 120_000 },
  async (context) => {
    const clock = manualClock();
    await using started = new AsyncDisposableStack();
    const sender = newPoster(clock);
    started.defer(() => sender.close());
    const attacks = await Promise.all(
      hostiles.map(async (hostile, n) => {
        const server = started.use(await startHostile(hostile));
        return { hostile, server, attempt: attack(sender, { hostile, server }, BigInt(n)) };
      }),
    );
    const isHanging = ({ hostile }: { hostile: Hostile }) =>
      hostile.expected?.endsWith("timeout") === true;
    const hanging = attacks.filter((each) => isHanging(each));
    const ending = attacks.filter((each) => !isHanging(each));

    await Promise.all(ending.map(({ attempt }) => attempt));
    await until("all that hang are connected", () =>
      hanging.every(({ server }) => server.connections === 1),
    );
    await quiet();
    clock.advance(connectBudgets.tlsMs);
    await quiet();
    clock.advance(DEADLINE_MS - connectBudgets.tlsMs);

    for (const { hostile, attempt } of attacks) {
      const { name, expected, day } = hostile;
      await context.test(`a receiver that ${name}: ${expected ?? "delivered"}`, async () => {
        const { outcome, answer } = await attempt;
        assert.equal(outcomeClass(outcome), expected, JSON.stringify(outcome));
        assert.ok((answer?.body.length ?? 0) <= 2_048);
        if (day && outcome.kind === "failed") {
          assert.ok(outcome.detail.startsWith(day.words), outcome.detail);
          const told = new Date(outcome.detail.slice(day.words.length));
          assert.equal(told.toDateString(), day.date.toDateString());
        }
      });
    }
    assert.equal(sender.connections().busy, 0);
  },
);

test("a healthy receiver is answered while every hostile one still hangs", async () => {
  const sender = newPoster();
  await using healthy = await startRawServer(answering(write(OK)));
  const settled: string[] = [];
  const hanging = hostiles.filter(({ expected }) => expected === "timeout");
  const attacks = hanging.map(async (hostile, n) => {
    const server = await startHostile(hostile);
    await attack(sender, { hostile, server }, BigInt(n));
    settled.push(hostile.name);
    await server[Symbol.asyncDispose]();
  });

  for (let n = 0; n < 20; n += 1) {
    const url = `http://127.0.0.1:${healthy.port}/`;
    const { status } = await sender.post({ hostKey: 1_000n, url, headers: {}, body: EMPTY });
    assert.equal(status, 200);
  }

  assert.deepEqual(settled, []);
  await sender.close();
  await Promise.all(attacks);
});

test("reading is bounded: a flood is cut off after 64 KiB, give or take what was under way", async () => {
  const sender = newPoster();
  let sent = 0;
  const closed = Promise.withResolvers<void>();
  await using server = await startRawServer((socket) => {
    answering(flood("HTTP/1.1 200 OK\r\n\r\n", "a"))(socket);
    socket.on("close", () => {
      sent = socket.bytesWritten;
      closed.resolve();
    });
  });

  const url = `http://127.0.0.1:${server.port}/`;
  const { status, answer } = await sender.post({
    hostKey: 1n,
    url,
    headers: {},
    body: EMPTY,
  });
  await closed.promise;

  assert.equal(status, 200);
  assert.equal(answer?.body.length, 2_048);
  // Kernel buffers on both sides hold a few megabytes; without a limit it would be gigabytes.
  assert.ok(sent < 32 * 1024 * 1024, `${sent} octets`);
  await sender.close();
});

test("no answer is ever decompressed", async () => {
  const sender = newPoster();
  await using server = await startRawServer(answering(gzipBomb));

  const url = `http://127.0.0.1:${server.port}/`;
  const { answer } = await sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY });

  assert.deepEqual(answer?.body, bomb.subarray(0, 2_048));
  await sender.close();
});

test("anything a receiver sends beyond its answer is not taken for the next one", async () => {
  const sender = newPoster();
  let requests = 0;
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => {
      requests += 1;
      socket.write(requests === 1 ? `${OK}HTTP/1.1 500 Forged\r\nContent-Length: 0\r\n\r\n` : OK);
    });
  });
  const statuses = [];
  for (let n = 0; n < 3; n += 1) {
    const url = `http://127.0.0.1:${server.port}/`;
    statuses.push((await sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY })).status);
  }
  await sender.close();

  assert.deepEqual(statuses, [200, 200, 200]);
});

test("a redirect is not followed, wherever it leads", async () => {
  const sender = newPoster();
  await using target = await startRawServer(answering(write(OK)));
  const location = `http://127.0.0.1:${target.port}/v1/messages`;
  await using server = await startRawServer(
    answering(write(`HTTP/1.1 307 Go\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)),
  );

  const url = `http://127.0.0.1:${server.port}/`;
  const { outcome } = await sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY });

  assert.equal(outcomeClass(outcome), "http_307");
  assert.equal(target.connections, 0);
  await sender.close();
});

test("a receiver that shows a certificate but holds back the handshake's end fails in TLS, not by the network", async () => {
  const clock = manualClock();
  const sender = newPoster(clock);
  const tls = authority.issue({ names: ["localhost"] });
  await using secure = await startRawServer(() => {}, { tls });
  let isShown = false;
  await using hostile = await startRawServer((socket) => {
    const behind = connect(secure.port, "127.0.0.1");
    socket.pipe(behind).once("data", (flight: Buffer) => {
      socket.write(flight.subarray(0, -40), () => (isShown = true));
    });
    socket.on("close", () => behind.destroy());
  });

  const url = `https://localhost:${hostile.port}/`;
  const attempt = sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY });
  await until("the certificate is shown", () => isShown);
  await quiet();
  clock.advance(connectBudgets.tlsMs);
  const { outcome } = await attempt;
  await sender.close();

  const detail = "not finished after the certificate";
  assert.deepEqual(outcome, { kind: "failed", class: "tls_failed", detail });
});

test("a handshake whose end arrived while the thread was held up is finished, not timed out", async () => {
  const clock = manualClock();
  const sender = newPoster(clock);
  const tls = authority.issue({ names: ["localhost"] });
  await using secure = await startRawServer(answering(write(OK)), { tls });
  let finish: (() => void) | undefined;
  await using slow = await startRawServer((socket) => {
    const behind = connect(secure.port, "127.0.0.1");
    socket.pipe(behind).once("data", (flight: Buffer) => {
      socket.write(flight.subarray(0, -40));
      finish = () => {
        socket.write(flight.subarray(-40));
        behind.pipe(socket);
      };
    });
    socket.on("close", () => behind.destroy());
  });

  const url = `https://localhost:${slow.port}/`;
  const attempt = sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY });
  await until("the certificate is shown", () => finish !== undefined);
  await quiet();
  finish?.();
  clock.advance(connectBudgets.tlsMs);
  const { status } = await attempt;
  await sender.close();

  assert.equal(status, 200);
});

test("no environment variable turns off the check of certificates", async () => {
  const sender = newPoster();
  await using server = await startRawServer(answering(write(OK)), {
    tls: selfSigned(["localhost"]),
  });
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";

  const url = `https://localhost:${server.port}/`;
  const { outcome } = await sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY });
  delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];

  assert.equal(outcomeClass(outcome), "tls_certificate_untrusted");
  await sender.close();
});

test("a receiver certified by the operator's own authority is called, by name and by address", async () => {
  const sender = newPoster();
  const tls = authority.issue({ names: ["localhost", "127.0.0.1"] });
  await using server = await startRawServer(answering(write(OK)), { tls });
  for (const host of ["localhost", "127.0.0.1"]) {
    const url = `https://${host}:${server.port}/`;
    const attempt = await sender.post({ hostKey: 1n, url, headers: {}, body: EMPTY });
    assert.equal(attempt.status, 200, JSON.stringify(attempt.outcome));
    assert.notEqual(attempt.timings.tlsMs, null);
  }
  await sender.close();
});

/** Waits for the request, then lets `write` answer it. */
function answering(reply: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => onRequests(socket, () => reply(socket));
}

function write(text: string): (socket: Socket) => void {
  return (socket) => void socket.write(text, "latin1");
}

function end(text: string): (socket: Socket) => void {
  return (socket) => void socket.end(text);
}

/** Sends one piece every 50 ms while the other side listens. */
function drip(start: string, piece: string): (socket: Socket) => void {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(piece), 50);
    socket.on("close", () => clearInterval(timer));
  };
}

/** Sends as fast as the other side reads, for as long as it does. */
function flood(start: string, piece: string): (socket: Socket) => void {
  const block = piece.repeat(Math.ceil(16_384 / piece.length));
  return (socket) => {
    socket.write(start);
    const pour = (): void => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on("drain", pour);
    pour();
  };
}

const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));

function gzipBomb(socket: Socket): void {
  socket.write(
    `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`,
  );
  socket.write(bomb);
}

function finiteField(): TlsOptions {
  const identity = authority.issue({ names: ["localhost"], isRsa: true });
  const ciphers = "DHE-RSA-AES128-GCM-SHA256";
  return { ...identity, maxVersion: "TLSv1.2", ciphers, dhparam: "auto" };
}

function oldTls(): TlsOptions {
  const old = {
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0",
  } as const;
  return { ...authority.issue({ names: ["localhost"] }), ...old };
}
