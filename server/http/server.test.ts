import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { type Clock, systemClock } from "#platform";
import { bareServer } from "../../test/support/bare-server.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { quiet, until } from "../../test/support/until.ts";
import { MAX_PIPELINED } from "./limit-pipelining.ts";
import { LOOK_MS } from "./limit-unread.ts";

const REQUEST = "GET /slow HTTP/1.1\r\nHost: posthorn.test\r\n\r\n";
const ELSEWHERE = "CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test:443\r\n\r\n";
/** More than a connection's buffers hold. */
const UNREAD = "a".repeat(32 * 1_048_576);

/** A server with one route, which answers when the test tells it to. */
async function startSlow(clock: Clock = systemClock) {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  let begun = 0;
  const app = bareServer({ clock });
  app.get("/slow", async () => {
    begun += 1;
    asked.resolve();
    return answer.promise;
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  return { app, port, asked: asked.promise, begun: () => begun, answer: answer.resolve };
}

test("a stop waits for the request under way, and not for its client to close the connection", async () => {
  const { app, port, asked, answer } = await startSlow();
  const socket = connect(port, "127.0.0.1");
  socket.write(REQUEST);
  await asked;

  const closed = app.close();
  await until("it listens no more", () => !app.server.listening);
  await new Promise(setImmediate);
  answer("done");
  const [said] = (await once(socket, "data")) as [Buffer];
  assert.match(said.toString(), /^HTTP\/1\.1 200 /);
  await closed;
});

test("a request sent before a stop is answered, even if it was not read yet", async () => {
  const { app, port, answer } = await startSlow();
  answer("done");
  const sockets = Array.from({ length: 20 }, () => connect(port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));

  for (const socket of sockets) socket.write(REQUEST);
  const closed = app.close();

  for (const said of await Promise.all(sockets.map((socket) => text(socket))))
    assert.match(said, /^HTTP\/1\.1 200 /);
  await closed;
});

test("a stop waits ten seconds for a client that does not read its answer, and then cuts it off", async () => {
  const clock = manualClock();
  const { app, port, asked, answer } = await startSlow(clock);
  await using socket = connect(port, "127.0.0.1").pause();
  socket.write(REQUEST);
  await asked;
  let isClosed = false;
  const closed = app.close().then(() => (isClosed = true));
  await until("it listens no more", () => !app.server.listening);

  answer(UNREAD);
  clock.advance(9_999);
  await new Promise(setImmediate);
  assert.equal(isClosed, false);
  clock.advance(1);
  await closed;
});

test("a client that has closed its side still gets its answer", async () => {
  const { app, port, asked, answer } = await startSlow();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const [[peer]] = (await Promise.all([
    once(app.server, "connection"),
    once(socket, "connect"),
  ])) as [[Socket], unknown];
  const ended = once(peer, "end");
  socket.end(REQUEST);
  await Promise.all([asked, ended]);

  answer("done");
  assert.match(await text(socket), /^HTTP\/1\.1 200 [^]*done$/);
  await app.close();
});

test("a client that sent CONNECT and does not hang up does not hold up a stop", async () => {
  const { app, port } = await startSlow();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.write(ELSEWHERE);

  const [said] = (await once(socket, "data")) as [Buffer];
  assert.match(said.toString(), /^HTTP\/1\.1 405 /);
  await app.close();
  socket.destroy();
});

test("a connection has a limited number of requests under way, and those beyond it are not begun", async () => {
  const { app, port, asked, begun, answer } = await startSlow();
  const socket = connect(port, "127.0.0.1");
  socket.end(REQUEST.repeat(1_000));
  await asked;

  answer("done");
  const answers = (await text(socket)).split(/(?=HTTP\/1\.1 )/);
  await app.close();

  assert.equal(begun(), MAX_PIPELINED);
  assert.equal(answers.length, MAX_PIPELINED);
  assert.match(answers.at(-1) ?? "", /^HTTP\/1\.1 200 [^]*^connection: close\r$/im);
});

test("a client that goes on far beyond that limit is no longer read from, and still gets its answers", async () => {
  const { app, port, asked, begun, answer } = await startSlow();
  const accepted = once(app.server, "connection") as Promise<[Socket]>;
  const client = connect(port, "127.0.0.1");
  client.on("error", () => {});
  client.write(REQUEST.repeat(400_000));
  await asked;
  const [connection] = await accepted;

  await until("the connection is paused", () => connection.isPaused());
  await quiet();
  const { bytesRead } = connection;
  answer("done");
  let answers = "";
  for await (const octets of client.setEncoding("latin1")) {
    answers += octets;
    if (/^connection: close\r$/im.test(answers)) break;
  }
  await app.close();

  assert.ok(bytesRead <= 4 * 65_536, `${bytesRead} octets were read`);
  assert.deepEqual(
    [begun(), answers.match(/HTTP\/1\.1 200 /g)?.length],
    [MAX_PIPELINED, MAX_PIPELINED],
  );
});

for (const [next, status] of [
  ["rubbish\r\n\r\n", 400],
  [ELSEWHERE, 405],
] as const) {
  test(`a request under way gets its own answer, followed by the ${status} for what came behind it`, async () => {
    const { app, port, asked, answer } = await startSlow();
    const socket = connect(port, "127.0.0.1");
    const refused = once(app.server, status === 400 ? "clientError" : "connect");
    socket.write(REQUEST);
    await asked;

    socket.write(next);
    await refused;
    answer("done");
    const statuses = (await text(socket)).match(/(?<=HTTP\/1\.1 )\d+/g);
    await app.close();

    assert.deepEqual(statuses, ["200", String(status)]);
  });
}

test("a streamed answer is sent whole, even if its client then sends CONNECT", async () => {
  const piece = Buffer.alloc(65_536, "a");
  const app = bareServer();
  app.get("/slow", async (_request, reply) =>
    reply.type("text/plain").send(Readable.from(Array.from({ length: 400 }, () => piece))),
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  const socket = connect(port, "127.0.0.1");

  socket.write(`${REQUEST}${ELSEWHERE}`);
  const answers = await text(socket);
  await app.close();

  assert.equal(answers.match(/a{65536}/g)?.length, 400);
  assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d+/g), ["200", "405"]);
});

for (const [when, isLater] of [
  ["with it", false],
  ["once it was refused", true],
] as const) {
  test(`a request refused early gets one answer, even if what comes ${when} cannot be parsed`, async () => {
    const { app, port, asked, answer } = await startSlow();
    const socket = connect(port, "127.0.0.1");
    const noticed = once(app.server, "clientError");
    const early =
      "POST /nothing HTTP/1.1\r\nHost: posthorn.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    const garbled = "zz\r\n";

    socket.write(`${REQUEST}${early}${isLater ? "" : garbled}`);
    await asked;
    if (isLater) {
      for (let n = 0; n < 10; n += 1) await new Promise(setImmediate);
      socket.write(garbled);
    }
    await noticed;
    answer("done");
    const statuses = (await text(socket)).match(/(?<=HTTP\/1\.1 )\d+/g);
    await app.close();

    assert.deepEqual(statuses, ["200", "404"]);
  });
}

test("a connection goes on however many pairs of requests it has had one after the other", async () => {
  const { app, port, answer } = await startSlow();
  answer("done");
  const socket = connect(port, "127.0.0.1");
  let said = "";
  socket.on("data", (octets: Buffer) => void (said += octets.toString()));

  for (let pairs = 1; pairs <= MAX_PIPELINED; pairs += 1) {
    socket.write(REQUEST.repeat(2));
    await until(
      "both are answered",
      () => said.match(/HTTP\/1\.1 200 /g)?.length === 2 * pairs || socket.readableEnded,
    );
  }

  assert.doesNotMatch(said, /^connection: close\r$/im);
  socket.destroy();
  await app.close();
});

test("a client that reads nothing of its answer is cut off when its time is up, and one that has none is not", async () => {
  const clock = manualClock();
  const { app, port, asked, answer } = await startSlow(clock);
  const accepted = once(app.server, "connection") as Promise<[Socket]>;
  const client = connect(port, "127.0.0.1").pause();
  client.write(REQUEST);
  await asked;
  const [connection] = await accepted;
  const another = once(app.server, "connection") as Promise<[Socket]>;
  const patient = connect(port, "127.0.0.1");
  const [idle] = await another;

  answer(UNREAD);
  await until("more is written than it takes", () => connection.writableLength > 0);
  clock.advance(LOOK_MS);
  const isOpen = !connection.destroyed;
  clock.advance(LOOK_MS);

  assert.deepEqual([isOpen, connection.destroyed, idle.destroyed], [true, true, false]);
  client.destroy();
  patient.destroy();
  await app.close();
});

test("the client is the first address that is no trusted proxy, whichever of them are written with a port", async () => {
  await using app = bareServer({ trustProxy: ["127.0.0.0/8", "10.0.0.0/8", "fd00::/8"] });
  app.get("/", async ({ ip }) => ip);
  const clientOf = async (forwarded: string) => {
    const { body } = await app.inject({ url: "/", headers: { "x-forwarded-for": forwarded } });
    return body;
  };

  for (const client of ["192.0.2.1", "192.0.2.1:50001", "192.0.2.1, 10.0.0.2:443"])
    assert.equal(await clientOf(client), "192.0.2.1");
  for (const client of ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:50001,[fd00::2]:443"])
    assert.equal(await clientOf(client), "2001:db8::1");
  assert.equal(await clientOf("10.0.0.9, 192.0.2.1:443, 10.0.0.2"), "192.0.2.1");
});
