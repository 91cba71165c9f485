import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "#platform";

/** Longer than any client that reads at all needs to read a piece of its answer. */
export const LOOK_MS = 180_000;

/**
 * Cuts off clients that do not read their answers, which then fill our memory and the kernel's
 * buffers: those with unsent bytes left to which nothing was written since the last look. Other
 * ways cost more. A timeout per connection, as `server.timeout` sets it, is renewed with each
 * request and costs a tenth of the time to answer one. A listener for the end of each answer costs
 * nearly as much, since Node adds and removes one of its own per request.
 */
export function limitUnread(server: Server, clock: Clock): void {
  /** The bytes written to each connection by the last look. */
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
