import type { Dispatcher } from "undici";
import type { Clock } from "#platform";
import { type Line, MAX_HEADER_OCTETS } from "./line.ts";

/** Read at most; what follows cannot change the outcome, so the connection is ended. */
const MAX_BODY_OCTETS = 64 * 1024;
/** Kept of it, for people to read. */
const MAX_KEPT_OCTETS = 2 * 1024;

export type ExchangeEnd =
  | { kind: "complete"; status: number }
  /** Complete as far as we read, but the receiver has more to say: the line cannot be used again. */
  | { kind: "cut"; status: number }
  | { kind: "timeout" }
  | { kind: "headers_too_large" }
  | { kind: "error"; error: Error };

type ExchangeRequest = { path: string; headers: Record<string, string>; body: Buffer };

export type Headers = Record<string, string | string[] | undefined>;

/**
 * One request and its answer on one line. Speaks to undici's `dispatch` directly: `request()` ignores
 * its signal until the request is on a socket, while this ends at the line's deadline wherever it is,
 * and reads without a stream in between. Ends exactly once.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly ended: Promise<ExchangeEnd>;
  status: number | null = null;
  headers: Headers = {};
  firstOctetMs: number | null = null;
  readonly kept: Buffer[] = [];

  readonly #line: Line;
  readonly #clock: Clock;
  readonly #settle: (end: ExchangeEnd) => void;
  readonly #cancelDeadline: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #hasEnded = false;
  #readBefore = 0;
  #bodyOctets = 0;
  #keptOctets = 0;

  constructor(line: Line, request: ExchangeRequest, clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<ExchangeEnd>();
    this.ended = promise;
    this.#settle = resolve;
    this.#line = line;
    this.#clock = clock;
    const leftMs = Math.max(0, line.deadlineMs - clock.monotonicMs());
    this.#cancelDeadline = clock.timer(leftMs, () => this.#end({ kind: "timeout" }));
    line.trace = null;
    line.onRead = (octets) => this.#onRead(octets);
    line.client.dispatch({ ...request, method: "POST" }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#readBefore = this.#line.socket?.bytesRead ?? 0;
  }

  onResponseStarted(): void {
    this.firstOctetMs ??= this.#clock.monotonicMs();
  }

  /** Also called for 1xx answers, which say nothing to us. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyOctets += chunk.length;
    const wanted = MAX_KEPT_OCTETS - this.#keptOctets;
    if (wanted > 0) {
      // A copy: the chunk is a view into a far larger buffer.
      const kept = Buffer.from(chunk.subarray(0, wanted));
      this.#keptOctets += kept.length;
      this.kept.push(kept);
    }
    if (this.#bodyOctets >= MAX_BODY_OCTETS) this.#end({ kind: "cut", status: this.status ?? 0 });
  }

  onResponseEnd(): void {
    this.#end({ kind: "complete", status: this.status ?? 0 });
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#end({ kind: "error", error });
  }

  /**
   * Counts what the parser does not: a status line without end, 1xx answers without number, chunks
   * that are all extension.
   */
  #onRead(octets: number): void {
    const read = octets - this.#readBefore;
    if (this.status === null) {
      if (read > MAX_HEADER_OCTETS) this.#end({ kind: "headers_too_large" });
    } else if (read > MAX_HEADER_OCTETS + MAX_BODY_OCTETS) {
      this.#end({ kind: "cut", status: this.status });
    }
  }

  #end(end: ExchangeEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cancelDeadline();
    this.#line.onRead = null;
    this.#settle(end);
    if (end.kind !== "complete") this.#controller?.abort(new Error(end.kind));
  }
}
