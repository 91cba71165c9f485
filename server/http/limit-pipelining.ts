import type { RequestListener } from "node:http";
import type { Socket } from "node:net";

/** Requests per connection that may await answers. Clients that pipeline send about ten ahead. */
export const MAX_PIPELINED = 20;

/** Requests per connection that are read without being started; few packets hold more. */
const MAX_UNSTARTED = 1_000;

/**
 * Node starts every request that it reads, up to a thousand per packet, and keeps their answers
 * until the client reads them. Here the request that reaches the limit is its connection's last, as
 * its answer says. Requests after it are not started, so the client must send them again. Node keeps
 * those too, at sixty times their size, so a connection with many of them is no longer read from.
 */
export function limitPipelining(handler: RequestListener): RequestListener {
  const crowded = new WeakMap<Socket, { behind: number; isFull: boolean; unstarted: number }>();
  return (request, response) => {
    const { socket } = request;
    const full = crowded.get(socket);
    if (full?.isFull) {
      full.unstarted += 1;
      if (full.unstarted <= MAX_UNSTARTED) return void request.resume();
      // Not now: Node resumes the connection at the end of every request in the packet.
      return queueMicrotask(() => socket.pause());
    }
    // An answer gets its socket once those before it are written. Most connections never wait.
    if (response.socket === null) {
      const connection = crowded.getOrInsert(socket, { behind: 0, isFull: false, unstarted: 0 });
      connection.behind += 1;
      response.once("close", () => (connection.behind -= 1));
      connection.isFull = connection.behind === MAX_PIPELINED - 1;
      if (connection.isFull) response.shouldKeepAlive = false;
    }
    handler(request, response);
  };
}
