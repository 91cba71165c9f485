import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Listens on every address of this machine, and records who connects. */
export async function startCanary() {
  const connections: string[] = [];
  const server = createServer((socket) => {
    connections.push(socket.remoteAddress ?? "unknown");
    socket.destroy();
  });
  server.listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, connections, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
