import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createMetrics, silentLog, systemClock } from "#platform";
import { until } from "../../test/support/until.ts";
import { createHttpServer } from "./server.ts";

const REQUEST = "GET /slow HTTP/1.1\r\nHost: posthorn.test\r\n\r\n";

/** A server with one route, which answers when the test says so. */
async function startSlow() {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = createHttpServer({
    publicUrl: "http://posthorn.test",
    bodyLimit: 1_000,
    trustProxy: [],
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  app.get("/slow", async () => {
    asked.resolve();
    await answer.promise;
    return "done";
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  return { app, port, asked: asked.promise, answer: answer.resolve };
}

test("a stop waits for the request under way, and not for its client to close the connection", async () => {
  const { app, port, asked, answer } = await startSlow();
  const socket = connect(port, "127.0.0.1");
  socket.write(REQUEST);
  await asked;

  const closed = app.close();
  await until("it listens no more", () => !app.server.listening);
  await new Promise(setImmediate);
  answer();
  const [said] = (await once(socket, "data")) as [Buffer];
  assert.match(said.toString(), /^HTTP\/1\.1 200 /);
  await closed;
});

test("a client that has closed its side gets its answer", async () => {
  const { app, port, asked, answer } = await startSlow();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const [[peer]] = (await Promise.all([
    once(app.server, "connection"),
    once(socket, "connect"),
  ])) as [[Socket], unknown];
  const ended = once(peer, "end");
  socket.end(REQUEST);
  await Promise.all([asked, ended]);

  answer();
  assert.match(await text(socket), /^HTTP\/1\.1 200 [^]*done$/);
  await app.close();
});
