import { errors } from "undici";
import type { ConnectTrace, Egress } from "./egress/connect.ts";
import { codeOf, type Failure, failed } from "./egress/failure.ts";
import { judgeUrl } from "./egress/judge-url.ts";
import { Exchange, type ExchangeEnd, type Headers } from "./exchange.ts";
import { type Line, Unreached } from "./line.ts";
import { lines } from "./lines.ts";
import type { Outcome } from "./outcome.ts";

export type Post = {
  hostKey: bigint;
  url: string;
  headers: Record<string, string>;
  body: Buffer;
};

/** One attempt as it happened. */
export type Attempt = {
  outcome: Outcome;
  /** As soon as it was read, even where the rest of the answer never came. */
  status: number | null;
  /** The start of the answer; null where there was none, or where it may not be shown. */
  answer: { headers: Headers; body: Buffer } | null;
  timings: Timings;
  address: string | null;
};

/** Null where a step was not needed or not reached. */
export type Timings = Omit<ConnectTrace, "address"> & {
  firstByteMs: number | null;
  totalMs: number;
};

export type PosterOptions = Egress & {
  /** Whether answers from private addresses are kept; else an account could read the operator's network. */
  showPrivateAnswers: boolean;
  /** Over everything: DNS, connecting, TLS, sending, and the answer to its last octet. */
  deadlineMs?: number;
};

export type Poster = {
  /** Settles by the deadline whatever the receiver does. Rejects only on a bug. */
  post(post: Post): Promise<Attempt>;
  connections(): { pools: number; idle: number; busy: number };
  /** Attempts that are under way end at once, as no attempts. */
  close(): Promise<void>;
};

const DEADLINE_MS = 10_000;

/** A line that dies later than this had time to take the request; then it counts as an answer. */
const REDIAL_WITHIN_MS = 1_000;

export function poster(options: PosterOptions): Poster {
  const { clock, policy, showPrivateAnswers, deadlineMs = DEADLINE_MS } = options;
  const pool = lines(options);
  const pathTo = pathReader();

  async function post({ hostKey, url, headers, body }: Post): Promise<Attempt> {
    const startedMs = clock.monotonicMs();
    const since = (ms: number | null) => (ms === null ? null : ms - startedMs);
    const target = judgeUrl(url, policy);
    if (!target.allowed) return unsent({ kind: "forbidden", detail: target.message });
    const request = { path: pathTo(url), headers, body };

    async function exchange(line: Line): Promise<{ exchange: Exchange; end: ExchangeEnd }> {
      line.deadlineMs = startedMs + deadlineMs;
      const exchange = new Exchange(line, request, clock);
      const end = await exchange.ended;
      pool.release(hostKey, line, end.kind === "complete");
      return { exchange, end };
    }

    let line = pool.take(hostKey, target);
    let result = await exchange(line);
    const diedIdle =
      line.trace === null && hasDied(result) && clock.monotonicMs() - startedMs < REDIAL_WITHIN_MS;
    if (diedIdle) {
      line = pool.takeNew(hostKey, target);
      result = await exchange(line);
    }

    const { status, headers: answered, kept, firstOctetMs } = result.exchange;
    const isShown = status !== null && (showPrivateAnswers || !line.isPrivate);
    return {
      outcome: outcomeOf(result),
      status,
      answer: isShown ? { headers: answered, body: Buffer.concat(kept) } : null,
      timings: {
        dnsMs: line.trace?.dnsMs ?? null,
        connectMs: line.trace?.connectMs ?? null,
        tlsMs: line.trace?.tlsMs ?? null,
        firstByteMs: since(firstOctetMs),
        totalMs: clock.monotonicMs() - startedMs,
      },
      address: line.address,
    };
  }

  return { post, connections: () => pool.count(), close: () => pool.close() };
}

type Result = { exchange: Exchange; end: ExchangeEnd };

/** The receiver closed an idle connection while the request was on its way: nobody's fault. */
function hasDied({ exchange, end }: Result): boolean {
  return end.kind === "error" && exchange.firstOctetMs === null && isLoss(end.error);
}

function outcomeOf({ exchange, end }: Result): Outcome {
  const { status, headers } = exchange;
  if (end.kind === "error") return failureOf(end.error, status);
  if (end.kind === "headers_too_large") return failed("headers_too_large", "no status in 16 KiB");
  if (end.kind === "timeout") {
    return failed("timeout", status === null ? "no answer" : `${status}, but not complete`);
  }
  return { kind: "answered", status: end.status, retryAfter: first(headers["retry-after"]) };
}

function failureOf(error: Error, status: number | null): Failure {
  if (error instanceof Unreached) return error.failure;
  const code = codeOf(error);
  if (error instanceof errors.HeadersOverflowError) return failed("headers_too_large", code);
  // "bad response" and "bad upgrade" are its words for an answer that has no place here.
  const isMisplaced = error.message.startsWith("bad ");
  // Of a body it means that the end is missing, of headers that two lengths contradict each other.
  const isContradiction = status === null && code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH";
  if (error instanceof errors.HTTPParserError || isMisplaced || isContradiction) {
    return failed("http_broken", error.message);
  }
  if (code.startsWith("ERR_SSL_")) return failed("tls_failed", code);
  if (code === "UND_ERR_DESTROYED")
    return { kind: "our_fault", detail: "this service is stopping" };
  if (isLoss(error)) return failed("connection_lost", error.message);
  throw error;
}

const LOSSES = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
]);

function isLoss(error: Error): boolean {
  return LOSSES.has(codeOf(error));
}

function pathOf(url: string): string {
  const parsed = new URL(url);
  return parsed.pathname + parsed.search;
}

/** Most receivers have one address, which is parsed once. */
const MAX_PATHS = 1_000;

function pathReader(): (url: string) => string {
  const known = new Map<string, string>();
  return (url) => {
    const path = known.get(url) ?? pathOf(url);
    if (known.size >= MAX_PATHS) known.clear();
    known.set(url, path);
    return path;
  };
}

function first(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

function unsent(failure: Failure): Attempt {
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 };
  return { outcome: failure, status: null, answer: null, timings, address: null };
}
