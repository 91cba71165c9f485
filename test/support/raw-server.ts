import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

export type RawServer = AsyncDisposable & {
  port: number;
  /** How many connections there were, and those now open. */
  connections: number;
  open: Set<Socket>;
};

/** A server that speaks whatever `onConnection` writes; with `tls`, after a handshake. */
export async function startRawServer(
  onConnection: (socket: Socket) => void,
  options: { tls?: TlsOptions; host?: string } = {},
): Promise<RawServer> {
  const server =
    options.tls === undefined ? createServer(accept) : createTlsServer(options.tls, accept);
  const raw: RawServer = {
    port: 0,
    connections: 0,
    open: new Set(),
    async [Symbol.asyncDispose]() {
      for (const socket of raw.open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };

  function accept(socket: Socket): void {
    raw.connections += 1;
    raw.open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => raw.open.delete(socket));
    onConnection(socket);
  }

  server.on("tlsClientError", () => {});
  server.listen(0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  raw.port = (server.address() as AddressInfo).port;
  return raw;
}

/** Calls `answer` with each complete request, as text. */
export function onRequests(socket: Socket, answer: (request: string, nth: number) => void): void {
  let text = "";
  let nth = 0;
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    for (let end = requestEnd(text); end > 0 && text.length >= end; end = requestEnd(text)) {
      const request = text.slice(0, end);
      text = text.slice(end);
      nth += 1;
      answer(request, nth);
    }
  });
}

function requestEnd(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return head === -1 ? 0 : head + 4 + length;
}
