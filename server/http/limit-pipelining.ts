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
  const crowded = new WeakMap<Socket, { behind: number; isFull: boolean }>();
  return (request, response) => {
    const { socket } = request;
    if (crowded.get(socket)?.isFull) return void request.resume();
    // An answer behind another has no socket before that one is written. Most connections never have one.
    if (response.socket === null) {
      const connection = crowded.getOrInsert(socket, { behind: 0, isFull: false });
      connection.behind += 1;
      response.once("close", () => (connection.behind -= 1));
      connection.isFull = connection.behind === MAX_PIPELINED - 1;
      if (connection.isFull) response.shouldKeepAlive = false;
    }
    handler(request, response);
  };
}
