import type { RequestListener } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait for their answers at once; clients that pipeline send about ten ahead. */
export const MAX_PIPELINED = 20;

/**
 * Node begins every request that it reads, a thousand in one packet, and keeps their answers until the
 * client reads them. Here the last that a connection may have ends it, as its answer says; what was sent
 * after it is not begun, and the client sends it again.
 */
export function limitPipelining(handler: RequestListener): RequestListener {
  const connections = new WeakMap<Socket, { unanswered: number; isFull: boolean }>();
  return (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? { unanswered: 0, isFull: false };
    if (connection.isFull) return void request.resume();
    connections.set(socket, connection);
    connection.unanswered += 1;
    response.once("close", () => (connection.unanswered -= 1));
    connection.isFull = connection.unanswered === MAX_PIPELINED;
    if (connection.isFull) response.shouldKeepAlive = false;
    handler(request, response);
  };
}
