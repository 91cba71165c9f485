import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { bareServer } from "../../../test/support/bare-server.ts";
import { openEventStream } from "./event-stream.ts";

test("a browser that reads too slowly is noticed, and no proxy is to hold back events", async () => {
  const app = bareServer();
  const kept = Promise.withResolvers<boolean[]>();
  app.get("/stream", (request, reply) =>
    openEventStream(request, reply, ({ write, end }) => {
      kept.resolve(Array.from({ length: 32 }, () => write("x".repeat(1024 * 1024))));
      end();
    }),
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };

  const socket = connect(port, "127.0.0.1");
  socket.write("GET /stream HTTP/1.1\r\nHost: posthorn.test\r\n\r\n");
  const [head] = (await once(socket, "data")) as [Buffer];
  const isKept = await kept.promise;
  socket.destroy();
  await app.close();

  assert.equal(isKept.at(-1), false);
  assert.match(head.toString("latin1"), /^x-accel-buffering: no\r$/im);
});

test("a stream ends when the browser closes its side, not only at the next event", async () => {
  const app = bareServer();
  const closed = Promise.withResolvers<void>();
  app.get("/stream", (request, reply) =>
    openEventStream(request, reply, ({ onClose }) => onClose(closed.resolve)),
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };

  const socket = connect(port, "127.0.0.1");
  socket.write("GET /stream HTTP/1.1\r\nHost: posthorn.test\r\n\r\n");
  await once(socket, "data");
  socket.end();

  await closed.promise;
  await app.close();
});
