import { codeOf, remembering } from "#platform/light";
import type { ConnectTrace, Egress } from "./egress/connect.ts";
import { type Failure, failed } from "./egress/failure.ts";
import { judgeUrl } from "./egress/judge-url.ts";
import type { Headers } from "./answer-head.ts";
import { Exchange, type ExchangeEnd } from "./exchange.ts";
import { type Connection, Unreached } from "./connection.ts";
import { connections } from "./connections.ts";
import type { Outcome } from "./outcome.ts";

export type Post = {
  hostKey: bigint;
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Keeps its receiver from being delayed by receivers that are not known to be reliable. */
  isReliable?: boolean;
};

/** The result of one attempt. */
export type Attempt = {
  outcome: Outcome;
  /** Set as soon as it was read, even if the rest of the answer never came. */
  status: number | null;
  /** The start of the answer; null if there was none or it may not be shown. */
  answer: { headers: Headers; body: Buffer } | null;
  timings: Timings;
  address: string | null;
};

/** Null if a step was not needed or not reached. */
export type Timings = Omit<ConnectTrace, "address"> & {
  firstByteMs: number | null;
  totalMs: number;
};

export type PosterOptions = Egress & {
  /** Limits everything: DNS, connecting, TLS, sending, and the answer to its last byte. */
  deadlineMs?: number;
};

export type Poster = {
  /** Settles by the deadline, whatever the receiver does. Rejects only on a bug. */
  post(post: Post): Promise<Attempt>;
  connections(): { pools: number; idle: number; busy: number };
  /** Ends attempts that are under way at once; they do not count as attempts. */
  close(): Promise<void>;
};

export const DEADLINE_MS = 10_000;

/** Receivers and their load balancers close idle connections after 5 s or more. */
const KEEP_ALIVE_MS = 4_000;
/** If a receiver states its idle limit, the connection is dropped this much earlier. */
const KEEP_ALIVE_MARGIN_MS = 2_000;

/** A connection that dies later than this had time to take the request: that counts as a result. */
const REDIAL_WITHIN_MS = 1_000;

export function poster(options: PosterOptions): Poster {
  const { clock, policy, deadlineMs = DEADLINE_MS } = options;
  const pool = connections(options);

  async function post({ hostKey, url, headers, body }: Post): Promise<Attempt> {
    const startedMs = clock.monotonicMs();
    const since = (ms: number | null) => (ms === null ? null : ms - startedMs);
    const target = judgeUrl(url, policy);
    if (!target.allowed) return unsent({ kind: "forbidden", detail: target.message });
    const request = { path: pathOf(url), headers, body, deadlineMs: startedMs + deadlineMs };

    async function exchange(connection: Connection): Promise<Result> {
      const exchange = new Exchange(connection, request, clock);
      const end = await exchange.ended;
      pool.release(hostKey, connection, keepMsOf({ exchange, end }));
      return { exchange, end };
    }

    let connection = pool.take(hostKey, target);
    let result = await exchange(connection);
    const diedIdle =
      connection.trace === null &&
      hasDied(result) &&
      clock.monotonicMs() - startedMs < REDIAL_WITHIN_MS;
    if (diedIdle) {
      connection = pool.takeNew(hostKey, target);
      result = await exchange(connection);
    }

    const { firstOctetMs, answer } = result.exchange;
    const { status, headers: answered, kept } = answer;
    const isShown = status !== null && (policy.showPrivateAnswers || !connection.isPrivate);
    return {
      outcome: outcomeOf(result),
      status,
      answer: isShown ? { headers: answered, body: Buffer.concat(kept) } : null,
      timings: {
        dnsMs: connection.trace?.dnsMs ?? null,
        connectMs: connection.trace?.connectMs ?? null,
        tlsMs: connection.trace?.tlsMs ?? null,
        firstByteMs: since(firstOctetMs),
        totalMs: clock.monotonicMs() - startedMs,
      },
      address: connection.address,
    };
  }

  return {
    post,
    connections: () => pool.count(),
    close: () => Promise.resolve(pool.close()),
  };
}

type Result = { exchange: Exchange; end: ExchangeEnd };

/** How long its connection may stay idle for another attempt. */
function keepMsOf({ exchange: { answer }, end }: Result): number {
  if (end.kind !== "complete" || answer.isLast) return 0;
  return Math.min(KEEP_ALIVE_MS, answer.keepAliveMs - KEEP_ALIVE_MARGIN_MS);
}

/** The receiver closed an idle connection while the request was on its way: nobody's fault. */
function hasDied({ exchange, end }: Result): boolean {
  const isLost = end.kind === "lost" && !(end.error instanceof Unreached);
  return isLost && exchange.firstOctetMs === null;
}

function outcomeOf({ exchange, end }: Result): Outcome {
  const { status, headers } = exchange.answer;
  switch (end.kind) {
    case "complete":
    case "cut":
      return { kind: "answered", status: end.status, retryAfter: first(headers["retry-after"]) };
    case "timeout":
      return failed("timeout", status === null ? "no answer" : `${status}, but not complete`);
    case "headers_too_large":
      return failed("headers_too_large", "more than 16 KiB");
    case "broken":
      return failed("http_broken", end.detail);
    case "lost":
      return failureOf(end.error);
  }
}

/** Any error of an open connection, even in TLS after the handshake, counts as losing it. */
function failureOf(error: Error): Failure {
  return error instanceof Unreached ? error.failure : failed("connection_lost", codeOf(error));
}

/** Most receivers have one address, which is then parsed only once. */
const pathOf = remembering(1_000, (url: string): string => {
  const parsed = new URL(url);
  return parsed.pathname + parsed.search;
});

function first(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

export function unsent(failure: Failure): Attempt {
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 };
  return { outcome: failure, status: null, answer: null, timings, address: null };
}
