import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import type { Socket } from "node:net";
import { test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { buildConnector, fetch, Pool } from "undici";
import { onRequests, startRawServer } from "../../test/support/raw-server.ts";

// What the HTTP client does that a webhook must not depend on. The room is built around these; an
// upgrade that changes one fails here, and then the code around it can be thought over.

test("request() ignores its signal until the request is on a socket", async () => {
  const pool = new Pool("http://127.0.0.1:9", { connect: () => {} });
  const stop = new AbortController();
  let isSettled = false;
  const request = pool.request({ path: "/", method: "POST", signal: stop.signal }).catch(() => {});
  void request.then(() => (isSettled = true));

  stop.abort();
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);

  assert.equal(isSettled, false);
  await pool.destroy();
});

test("destroying the client ends a request that is not on a socket yet", async () => {
  const pool = new Pool("http://127.0.0.1:9", { connect: () => {} });
  const request = pool.request({ path: "/", method: "POST" });
  const failed = assert.rejects(request, { code: "UND_ERR_DESTROYED" });

  await pool.destroy();

  await failed;
});

test("bodyTimeout starts anew with every octet", async () => {
  const total = 12;
  await using server = await startRawServer((socket) => {
    onRequests(socket, () =>
      drip(socket, { head: `HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`, total }),
    );
  });
  const pool = new Pool(`http://127.0.0.1:${server.port}`, { bodyTimeout: 1_000 });

  const { body } = await pool.request({ path: "/", method: "POST" });

  // Twelve times 150 ms is longer than the time-out, and yet the whole body comes.
  assert.equal((await body.text()).length, total);
  await pool.destroy();
});

test("1xx answers start headersTimeout anew", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => {
      drip(socket, { head: "", total: 12, piece: "HTTP/1.1 103 Early\r\n\r\n" }, () => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      });
    });
  });
  const pool = new Pool(`http://127.0.0.1:${server.port}`, { headersTimeout: 1_000 });

  const { statusCode, body } = await pool.request({ path: "/", method: "POST" });
  await body.dump();

  assert.equal(statusCode, 200);
  await pool.destroy();
});

test("maxResponseSize turns a large success into an error", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n${"a".repeat(99)}`),
    );
  });
  const pool = new Pool(`http://127.0.0.1:${server.port}`, { maxResponseSize: 10 });

  const { body } = await pool.request({ path: "/", method: "POST" });

  await assert.rejects(body.text(), { code: "UND_ERR_RES_EXCEEDED_MAX_SIZE" });
  await pool.destroy();
});

test("fetch follows redirects, adds headers of its own and inflates; request() does none of it", async () => {
  const requests: string[] = [];
  const packed = gzipSync("a".repeat(10_000));
  await using server = await startRawServer((socket) => {
    onRequests(socket, (request) => {
      requests.push(request);
      if (request.startsWith("POST /moved")) {
        socket.write("HTTP/1.1 307 Go\r\nLocation: /packed\r\nContent-Length: 0\r\n\r\n");
      } else {
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`,
        );
        socket.write(packed);
      }
    });
  });
  const origin = `http://127.0.0.1:${server.port}`;

  const fetched = await fetch(`${origin}/moved`, { method: "POST", body: "{}" });
  assert.equal((await fetched.text()).length, 10_000);
  assert.equal(requests.length, 2);
  assert.match(requests[0] ?? "", /accept-encoding: gzip/i);
  const pool = new Pool(origin);
  const moved = await pool.request({ path: "/moved", method: "POST", body: "{}" });
  await moved.body.dump();
  const plain = await pool.request({ path: "/packed", method: "POST", body: "{}" });

  assert.equal(moved.statusCode, 307);
  assert.equal((await plain.body.arrayBuffer()).byteLength, packed.length);
  assert.equal(requests.length, 4);
  assert.doesNotMatch(requests[3] ?? "", /accept|user-agent/i);
  await pool.destroy();
});

test("a custom lookup is not called for literal addresses, a connect function always is", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => socket.end("HTTP/1.1 204 No\r\n\r\n"));
  });
  const calls: string[] = [];
  const viaLookup = new Pool(`http://127.0.0.1:${server.port}`, {
    connect: { lookup: () => calls.push("lookup") },
  });
  const connector = buildConnector({});
  const viaConnect = new Pool(`http://127.0.0.1:${server.port}`, {
    connect: (options, callback) => {
      calls.push("connect");
      connector(options, callback);
    },
  });

  for (const pool of [viaLookup, viaConnect]) {
    for (let n = 0; n < 2; n += 1)
      await (await pool.request({ path: "/", method: "POST" })).body.dump();
    await pool.destroy();
  }

  assert.deepEqual(calls, ["connect", "connect"]);
});

test("a proxy in the environment is used by fetch, never by a webhook", async () => {
  await using proxy = await startRawServer((socket) => {
    onRequests(socket, () => socket.end("HTTP/1.1 502 Proxy\r\nContent-Length: 0\r\n\r\n"));
  });
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => socket.end("HTTP/1.1 204 No\r\n\r\n"));
  });

  const statuses = await postInChild(`http://127.0.0.1:${server.port}/`, {
    NODE_USE_ENV_PROXY: "1",
    HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
  });

  assert.deepEqual(statuses, { fetched: 502, posted: 204 });
});

async function postInChild(url: string, environment: Record<string, string>): Promise<unknown> {
  const door = new URL("post.ts", import.meta.url);
  const egress = new URL("../../test/support/egress.ts", import.meta.url);
  const script = `
    const { poster } = await import("${door.href}");
    const { testEgress } = await import("${egress.href}");
    const sender = poster({ ...testEgress(), showPrivateAnswers: true });
    const fetched = await fetch("${url}", { method: "POST" });
    const posted = await sender.post({ hostKey: 1n, url: "${url}", headers: {}, body: Buffer.from("{}") });
    await sender.close();
    console.log(JSON.stringify({ fetched: fetched.status, posted: posted.status }));
    process.exit();`;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, ...environment, NO_PROXY: "" },
    timeout: 20_000,
  });
  return JSON.parse(stdout);
}

type Drip = { head: string; total: number; piece?: string };

/** One piece every 150 ms, so many times. */
function drip(socket: Socket, { head, total, piece = "a" }: Drip, done = () => {}): void {
  socket.write(head);
  let sent = 0;
  const timer = setInterval(() => {
    socket.write(piece);
    sent += 1;
    if (sent < total) return;
    clearInterval(timer);
    done();
  }, 150);
  socket.on("close", () => clearInterval(timer));
}
