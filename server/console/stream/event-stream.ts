import type { FastifyReply, FastifyRequest } from "fastify";

/** What is written here goes to the browser until either side ends the stream. */
export type StreamSink = {
  /** False if the browser does not keep up. */
  write(text: string): boolean;
  end(): void;
  onClose(listener: () => void): void;
  lastEventId: string | undefined;
};

/** How much may wait for a browser that reads slowly. */
const MAX_UNSENT_OCTETS = 1024 * 1024;

/** Turns the connection over to the writer of events; headers set so far are kept. */
export function openEventStream(
  request: FastifyRequest,
  reply: FastifyReply,
  start: (sink: StreamSink) => void,
): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream; charset=utf-8",
    // Keeps proxies from buffering the events.
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  // A half-closed connection still gets normal answers, but a stream has no end to wait for.
  request.raw.socket.once("end", () => raw.destroy());
  const lastEventId = request.headers["last-event-id"];
  start({
    write: (text) => {
      if (raw.destroyed) return false;
      raw.write(text);
      return raw.writableLength < MAX_UNSENT_OCTETS;
    },
    end: () => void raw.end(),
    onClose: (listener) => void raw.once("close", listener),
    lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
  });
}
