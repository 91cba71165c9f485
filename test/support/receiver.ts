import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "./until.ts";

/** One POST as it arrived. */
export type Received = {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** By the receiver's own clock; the end is when the answer was written. */
  arrivedMs: number;
  answeredMs: number | null;
  /** Aborted when its connection ends, or when it is answered. */
  closed: AbortSignal;
};

export type Answer =
  | number
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  /** Holds the answer back until the test releases it. */
  | "hold";

export type Receiver = AsyncDisposable & {
  url: string;
  port: number;
  received: Received[];
  /** How the next POSTs are answered. */
  answer: (received: Received) => Answer | Promise<Answer>;
  /** Answers everything that is held, and later POSTs too. */
  release(status: number): void;
  /** Resolves once this many have arrived. */
  arrived(count: number): Promise<Received[]>;
};

/** A client's receiver: keeps every POST, and answers as the test wishes. */
export async function startReceiver(
  answer: Receiver["answer"] = () => 200,
  host = "127.0.0.1",
): Promise<Receiver> {
  const held = new Set<{ response: ServerResponse; entry: Received }>();
  const server = createServer((request, response) => void serve(request, response));
  const receiver: Receiver = {
    url: "",
    port: 0,
    received: [],
    answer,
    release(status) {
      receiver.answer = () => status;
      for (const { response, entry } of held) respond(response, entry, status);
      held.clear();
    },
    async arrived(count) {
      await until(`${count} webhooks arrive`, () => receiver.received.length >= count);
      return receiver.received;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const closed = new AbortController();
    response.once("close", () => closed.abort());
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const entry: Received = {
      path: request.url ?? "",
      headers,
      body: Buffer.concat(chunks),
      arrivedMs: performance.now(),
      answeredMs: null,
      closed: closed.signal,
    };
    receiver.received.push(entry);
    const wanted = await receiver.answer(entry);
    if (wanted === "hold") held.add({ response, entry });
    else respond(response, entry, wanted);
  }

  server.listen(0, host);
  await once(server, "listening");
  receiver.port = (server.address() as AddressInfo).port;
  receiver.url = `http://127.0.0.1:${receiver.port}/hook`;
  return receiver;
}

function respond(response: ServerResponse, entry: Received, wanted: Exclude<Answer, "hold">): void {
  const {
    status,
    headers = {},
    body = "",
  } = typeof wanted === "number" ? { status: wanted } : wanted;
  entry.answeredMs = performance.now();
  response.writeHead(status, headers);
  response.end(body);
}
