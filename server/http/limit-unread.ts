import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "#platform";

/** Longer than whoever reads an answer at all needs for a piece of it. */
export const LOOK_MS = 180_000;

/**
 * Cuts off clients that take nothing of their answers, which wait for them in memory and in the kernel's
 * buffers: who has some left, and was written nothing more since the look before. A limit at every
 * connection, as `server.timeout` sets it, is set anew with each request and costs a tenth of the time to
 * answer one. A listener for the end of each costs nearly as much, since Node adds and removes one of its
 * own with each request.
 */
export function limitUnread(server: Server, clock: Clock): void {
  /** What was written to each by the look before. */
  const written = new Map<WeakRef<Socket>, number>();
  let cancel: (() => void) | undefined;
  const look = () => {
    for (const [connection, before] of written) {
      const socket = connection.deref();
      if (!socket || socket.destroyed) written.delete(connection);
      else if (socket.writableLength > 0 && socket.bytesWritten === before) socket.destroy();
      else written.set(connection, socket.bytesWritten);
    }
    cancel = written.size > 0 ? clock.timer(LOOK_MS, look) : undefined;
  };
  server.on("connection", (socket: Socket) => {
    written.set(new WeakRef(socket), 0);
    cancel ??= clock.timer(LOOK_MS, look);
  });
  server.once("close", () => cancel?.());
}
