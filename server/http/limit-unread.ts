import type { Server } from "node:http";
import type { Socket } from "node:net";

const LOOK_MS = 60_000;
const UNREAD_TIMEOUT_MS = 120_000;

/**
 * Cuts off clients that take nothing of their answers, which wait for them in memory and in the kernel's
 * buffers. Only who has left something unread gets a limit: one for every connection, as `server.timeout`
 * sets it, is set anew with each request and costs a tenth of the time to answer one. A listener for the
 * end of each connection costs nearly as much, since Node adds and removes one of its own with each request.
 */
export function limitUnread(server: Server): void {
  const open = new Set<WeakRef<Socket>>();
  server.on("connection", (socket: Socket) => void open.add(new WeakRef(socket)));
  const looking = setInterval(() => {
    for (const held of open) {
      const socket = held.deref();
      if (!socket || socket.destroyed) open.delete(held);
      else if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(UNREAD_TIMEOUT_MS);
    }
  }, LOOK_MS).unref();
  server.once("close", () => clearInterval(looking));
}
