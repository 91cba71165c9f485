import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { bareServer } from "../../../test/support/bare-server.ts";
import { openEventStream } from "./event-stream.ts";

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
