import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "#platform";
import { testEgress } from "../../test/support/egress.ts";
import { eventually } from "../../test/support/eventually.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { onRequests, type RawServer, startRawServer } from "../../test/support/raw-server.ts";
import { type Attempt, poster, type Poster, type PosterOptions } from "./post.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

function newPoster(options: Partial<PosterOptions> = {}): Poster & AsyncDisposable {
  const made = poster({ ...testEgress(), ...options });
  return { ...made, [Symbol.asyncDispose]: () => made.close() };
}

function post(
  sender: Poster,
  server: RawServer,
  wish: { hostKey?: bigint; path?: string } = {},
): Promise<Attempt> {
  const { hostKey = 1n, path = "/hook" } = wish;
  const url = `http://127.0.0.1:${server.port}${path}`;
  return sender.post({
    hostKey,
    url,
    headers: { "X-SMS-Event": "message.sent" },
    body: Buffer.from('{"a":"ü"}'),
  });
}

test("the request on the wire is the given octets, the given headers, and what HTTP needs", async () => {
  let seen = "";
  await using server = await startRawServer((socket) => {
    onRequests(socket, (request) => {
      seen = request;
      socket.write(OK);
    });
  });
  await using sender = newPoster();

  await post(sender, server, { path: "/hook/ü?x=1&y=%20" });

  const [head = "", body = ""] = seen.split("\r\n\r\n");
  assert.deepEqual(head.split("\r\n"), [
    "POST /hook/%C3%BC?x=1&y=%20 HTTP/1.1",
    `host: 127.0.0.1:${server.port}`,
    "connection: keep-alive",
    "X-SMS-Event: message.sent",
    "content-length: 10",
  ]);
  assert.equal(Buffer.from(body, "latin1").toString(), '{"a":"ü"}');
});

test("a name is looked up on behalf of the lane's account", async () => {
  const askers: (bigint | undefined)[] = [];
  const resolve: PosterOptions["resolve"] = (_name, _deadlineMs, account) => {
    askers.push(account);
    return Promise.resolve([]);
  };
  await using sender = newPoster({ resolve });

  const url = "http://hooks.example.com/";
  for (const hostKey of [0x1_0001n, 0x1_0002n, 0x2_0001n])
    await sender.post({ hostKey, url, headers: {}, body: Buffer.from("{}") });

  assert.deepEqual(askers, [1n, 1n, 2n]);
});

test("a header value that would end its line and begin another header is never sent", async () => {
  await using server = await startRawServer((socket) => onRequests(socket, () => socket.write(OK)));
  await using sender = newPoster();
  const url = `http://127.0.0.1:${server.port}/`;

  for (const value of ["a\r\nX-SMS-Test: true", "a\nb", "a\0b", "é"]) {
    const headers = { "X-SMS-Event": value };
    const posting = sender.post({ hostKey: 1n, url, headers, body: Buffer.from("{}") });
    await assert.rejects(posting, /A header cannot be sent/);
  }

  assert.equal(server.connections, 0);
});

test("a bug while connecting ends the attempt as a fault of ours, and nothing else", async () => {
  const resolve = () => {
    throw new TypeError("a bug");
  };
  await using sender = newPoster(testEgress({ resolve }));

  const url = "http://hooks.example.com/";
  const { outcome } = await sender.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });

  assert.deepEqual(outcome, { kind: "our_fault", detail: "connecting failed: a bug" });
});

test("an attempt reports status, answer, address and timings", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () =>
      socket.write("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy"),
    );
  });
  await using sender = newPoster();

  const { outcome, status, answer, address, timings } = await post(sender, server);

  assert.deepEqual(outcome, { kind: "answered", status: 503, retryAfter: "7" });
  assert.equal(status, 503);
  assert.equal(answer?.headers["retry-after"], "7");
  assert.equal(answer.body.toString(), "busy");
  assert.equal(address, "127.0.0.1");
  assert.equal(timings.dnsMs, null);
  assert.equal(timings.tlsMs, null);
  const { connectMs, firstByteMs, totalMs } = timings;
  assert.ok(
    connectMs !== null &&
      firstByteMs !== null &&
      connectMs <= firstByteMs &&
      firstByteMs <= totalMs,
  );
});

test("a connection is kept alive and used again by its lane, and never by another", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => socket.write(OK));
  });
  await using sender = newPoster();

  const first = await post(sender, server);
  const second = await post(sender, server);
  assert.equal(server.connections, 1);
  const other = await post(sender, server, { hostKey: 2n });

  assert.equal(server.connections, 2);
  assert.notEqual(first.timings.connectMs, null);
  assert.equal(second.timings.connectMs, null);
  assert.equal(second.address, "127.0.0.1");
  assert.notEqual(other.timings.connectMs, null);
});

test("a kept connection on which the receiver speaks unasked is ended, not kept for the next attempt", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => socket.write(OK));
  });
  // The clock stands still, so that nothing else ends the connection.
  await using sender = newPoster({ clock: manualClock() });
  await post(sender, server);

  for (const socket of server.open) socket.write("HTTP/1.1 500 Forged\r\n");

  await eventually("it is ended", async () => server.open.size === 0);
  assert.equal((await post(sender, server)).status, 200);
});

test("two attempts of a lane at once use two connections: nothing waits inside the client", async () => {
  const sockets: (() => void)[] = [];
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => {
      sockets.push(() => socket.write(OK));
      if (sockets.length === 3) for (const answer of sockets) answer();
    });
  });
  await using sender = newPoster();

  const attempts = await Promise.all([1, 2, 3].map(() => post(sender, server)));

  assert.deepEqual(
    attempts.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(server.connections, 3);
});

test("a kept connection that dies as it is used is dialled again once, as the same attempt", async () => {
  let requests = 0;
  await using server = await startRawServer((socket) => {
    onRequests(socket, (_, nth) => {
      requests += 1;
      if (nth === 1) socket.write(OK);
      else socket.destroy();
    });
  });
  await using sender = newPoster();
  await post(sender, server);

  const attempt = await post(sender, server);

  assert.equal(attempt.status, 200);
  assert.notEqual(attempt.timings.connectMs, null);
  assert.equal(requests, 3);
  assert.equal(server.connections, 2);
});

test("a connection is dialled again only once", async () => {
  let requests = 0;
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => {
      requests += 1;
      if (requests === 1) socket.write(OK);
      else socket.destroy();
    });
  });
  await using sender = newPoster();
  await post(sender, server);

  const { outcome } = await post(sender, server);

  assert.ok(outcome.kind === "failed");
  assert.equal(outcome.class, "connection_lost");
  assert.equal(requests, 3);
});

test("a new connection that dies, or one that dies after the first octet, is not dialled again", async () => {
  let requests = 0;
  await using server = await startRawServer((socket) => {
    onRequests(socket, (_, nth) => {
      requests += 1;
      if (requests === 1) socket.destroy();
      else if (nth === 1) socket.write(OK);
      else socket.end("HTTP/1.1 2");
    });
  });
  await using sender = newPoster();

  const fresh = await post(sender, server);
  await post(sender, server);
  const begun = await post(sender, server);

  for (const { outcome } of [fresh, begun]) assert.equal(outcome.kind, "failed");
  assert.equal(requests, 3);
});

test("a kept connection that dies after a second may have taken the request, and is not dialled again", async () => {
  let requests = 0;
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
  await using server = await startRawServer((socket) => {
    onRequests(socket, (_, nth) => {
      requests += 1;
      if (nth === 1) return socket.write(OK);
      aheadMs = 1_000;
      return socket.destroy();
    });
  });
  await using sender = newPoster({ clock });
  await post(sender, server);

  const { outcome } = await post(sender, server);

  assert.ok(outcome.kind === "failed");
  assert.equal(outcome.class, "connection_lost");
  assert.equal(requests, 2);
});

test("whatever ends an open connection, the attempt fails as a lost connection", async () => {
  let ended: Socket | undefined;
  const onSocket = (message: unknown) => ({ socket: ended } = message as { socket: Socket });
  subscribe("net.client.socket", onSocket);
  await using server = await startRawServer((socket) => {
    // Acts as if this machine's network went away.
    onRequests(socket, () => ended?.destroy(Object.assign(new Error(), { code: "ENETDOWN" })));
  });
  await using sender = newPoster();

  const { outcome } = await post(sender, server);

  unsubscribe("net.client.socket", onSocket);
  assert.deepEqual(outcome, { kind: "failed", class: "connection_lost", detail: "ENETDOWN" });
});

test("a receiver that closes after each answer is connected to again, without a failed attempt", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () => socket.end(OK));
  });
  await using sender = newPoster();
  const statuses = [];
  for (let n = 0; n < 10; n += 1) statuses.push((await post(sender, server)).status);

  assert.deepEqual(new Set(statuses), new Set([200]));
});

test("a connection is kept no longer than the receiver says, nor after its last answer", async () => {
  for (const answer of [
    "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
  ]) {
    await using server = await startRawServer((socket) => {
      onRequests(socket, () => socket.write(answer));
    });
    await using sender = newPoster();

    await post(sender, server);
    await post(sender, server);

    assert.equal(server.connections, 2, answer);
  }
});

test("a connection waits 4 s for another attempt, even if the receiver allows longer", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () =>
      socket.write("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: 0\r\n\r\n"),
    );
  });
  const clock = manualClock();
  await using sender = newPoster({ clock });

  const connections: number[] = [];
  for (const waitedMs of [0, 3_999, 4_000]) {
    clock.advance(waitedMs);
    await post(sender, server);
    connections.push(server.connections);
  }

  assert.deepEqual(connections, [1, 1, 2]);
});

test("a connection whose attempt timed out before it was established is not used again", async () => {
  const egress = testEgress({ resolve: () => new Promise(() => {}), budgets: { dnsMs: 60_000 } });
  await using sender = newPoster({ ...egress, deadlineMs: 20 });

  const url = "http://hooks.example.com/";
  const { outcome } = await sender.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });

  assert.ok(outcome.kind === "failed");
  assert.equal(sender.connections().idle, 0);
});

test("a connection that is established after the service stopped is ended, and carries no request", async () => {
  let octets = 0;
  await using server = await startRawServer((socket) =>
    socket.on("data", (data: Buffer) => (octets += data.length)),
  );
  const resolved = Promise.withResolvers<string[]>();
  const sender = newPoster(testEgress({ resolve: () => resolved.promise }));
  const url = `http://hooks.example.com:${server.port}/`;
  const underWay = sender.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });

  await sender.close();
  await underWay;
  resolved.resolve(["127.0.0.1"]);

  await eventually("it is ended", async () => server.connections === 1 && server.open.size === 0);
  assert.equal(octets, 0);
});

test("answers from private addresses are hidden unless the operator shows them", async () => {
  await using server = await startRawServer((socket) => {
    onRequests(socket, () =>
      socket.write("HTTP/1.1 500 No\r\nRetry-After: 9\r\nContent-Length: 6\r\n\r\nsecret"),
    );
  });
  await using sender = newPoster(testEgress({ showPrivateAnswers: false }));

  const { status, answer, outcome } = await post(sender, server);

  assert.equal(status, 500);
  assert.equal(answer, null);
  assert.deepEqual(outcome, { kind: "answered", status: 500, retryAfter: "9" });
});

test("an attempt under way when the service stops does not count, and leaves no connection", async () => {
  await using server = await startRawServer((socket) => void socket.resume());
  const sender = newPoster();
  const underWay = post(sender, server);
  await connected(server);

  await sender.close();

  const { outcome } = await underWay;
  assert.deepEqual(outcome, { kind: "our_fault", detail: "this service is stopping" });
  assert.equal((await post(sender, server)).outcome.kind, "our_fault");
  assert.deepEqual(sender.connections(), { pools: 0, idle: 0, busy: 0 });
});

test("a URL that the policy no longer allows is not called", async () => {
  await using server = await startRawServer((socket) => void socket.end());
  await using sender = newPoster(testEgress({ allowCidrs: [] }));

  const { outcome } = await post(sender, server);

  assert.equal(outcome.kind, "forbidden");
  assert.equal(server.connections, 0);
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
    const sender = poster(testEgress());
    const fetched = await fetch("${url}", { method: "POST" });
    const posted = await sender.post({ hostKey: 1n, url: "${url}", headers: {}, body: Buffer.from("{}") });
    await sender.close();
    console.log(JSON.stringify({ fetched: fetched.status, posted: posted.status }));
    process.exit();`;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, ...environment, NO_PROXY: "" },
    timeout: 120_000,
  });
  return JSON.parse(stdout);
}

async function connected(server: RawServer): Promise<void> {
  while (server.open.size === 0) await new Promise(setImmediate);
  const [socket] = server.open;
  if (socket?.bytesRead === 0) await once(socket, "data");
}
