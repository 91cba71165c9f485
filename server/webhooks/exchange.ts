import type { Clock } from "#platform";
import { Answer, type Reading } from "./answer.ts";
import { CLOSED, type Connection, type ConnectionUser } from "./connection.ts";

export type ExchangeEnd =
  | { kind: "complete"; status: number }
  /** Complete as far as we read, but more would come: the connection cannot be reused. */
  | { kind: "cut"; status: number }
  | { kind: "timeout" }
  | { kind: "headers_too_large" }
  | { kind: "broken"; detail: string }
  | { kind: "lost"; error: Error };

export type ExchangeRequest = {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Limits everything, including connecting. Monotonic. */
  deadlineMs: number;
};

/** One request and its answer on one connection. Ends exactly once, at the deadline if need be. */
export class Exchange implements ConnectionUser {
  readonly ended: Promise<ExchangeEnd>;
  readonly answer = new Answer();
  firstOctetMs: number | null = null;

  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #settle: (end: ExchangeEnd) => void;
  readonly #cancelDeadline: () => void;
  #hasEnded = false;

  constructor(connection: Connection, request: ExchangeRequest, clock: Clock) {
    const octets = octetsOf(connection, request);
    const { promise, resolve } = Promise.withResolvers<ExchangeEnd>();
    this.ended = promise;
    this.#settle = resolve;
    this.#connection = connection;
    this.#clock = clock;
    const { deadlineMs } = request;
    const leftMs = Math.max(0, deadlineMs - clock.monotonicMs());
    this.#cancelDeadline = clock.timer(leftMs, () => this.#end({ kind: "timeout" }));
    connection.send(octets, deadlineMs, this);
  }

  onData(octets: Buffer): void {
    this.firstOctetMs ??= this.#clock.monotonicMs();
    this.#judge(this.answer.read(octets));
  }

  onEnd(): void {
    if (this.answer.readEnd() === "complete") this.#judge("complete");
    else this.onLost(new Error(CLOSED));
  }

  onLost(error: Error): void {
    this.#end({ kind: "lost", error });
  }

  #judge(reading: Reading): void {
    const status = this.answer.status ?? 0;
    if (typeof reading !== "string") this.#end({ kind: "broken", detail: reading.broken });
    else if (reading === "headers_too_large") this.#end({ kind: reading });
    else if (reading !== "more") this.#end({ kind: reading, status });
  }

  #end(end: ExchangeEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cancelDeadline();
    this.#connection.rest();
    this.#settle(end);
  }
}

/** The whole request in one piece, so that it leaves in one write. */
function octetsOf({ url }: Connection, { path, headers, body }: ExchangeRequest): Buffer {
  let head = `POST ${path} HTTP/1.1\r\nhost: ${url.origin.slice(url.origin.indexOf("//") + 2)}\r\nconnection: keep-alive\r\n`;
  let values = "";
  for (const name in headers) {
    const value = headers[name] ?? "";
    head += `${name}: ${value}\r\n`;
    values += value;
  }
  // The values are all ours; a line ending in one would be a bug that turns data into headers.
  if (!PRINTABLE.test(values)) throw new Error("A header cannot be sent.");
  head += `content-length: ${body.length}\r\n\r\n`;
  const octets = Buffer.allocUnsafe(head.length + body.length);
  octets.write(head, "latin1");
  body.copy(octets, head.length);
  return octets;
}

const PRINTABLE = /^[ -~]*$/;
