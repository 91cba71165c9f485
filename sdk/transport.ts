import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorDetail, PosthornError } from "./error.ts";

export type PosthornOptions = {
  /** `sms_…`, created in the dashboard. Keep it on a server: never in a browser or an app. */
  apiKey: string;
  /** Where the service runs, such as `https://sms.example.com`. */
  baseUrl: string;
  /** Per attempt, answer included. Default: 30 s. */
  timeoutMs?: number;
  /** Attempts after the first one. Default: 4; 0 for none. */
  maxRetries?: number;
  /** Instead of the global one: for a proxy, or for tests. */
  fetch?: typeof globalThis.fetch;
};

export type CallOptions = {
  /** Ends the call, also between attempts, with a `PosthornError` with the code `ABORTED`. */
  signal?: AbortSignal;
};

export type Call = CallOptions & {
  method: "GET" | "POST";
  path: string;
  query?: URLSearchParams;
  body?: unknown;
  idempotencyKey?: string;
};

export type Transport = <Answer>(call: Call) => Promise<Answer>;

/** Ends early, and without an error, if the signal aborts. */
type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

/** Whether to wait longer is up to the caller: the error carries the `Retry-After`. */
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;

/** Busy, or a fault that may pass. 502 and 504 come from a proxy in front of the service. */
const PASSING_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Makes requests, and repeats them if that is safe and may help. Every operation of the API may be
 * repeated: a send carries its idempotency key, and canceling twice has the effect of once.
 */
export function createTransport(options: PosthornOptions, wait: Wait = rest): Transport {
  const { maxRetries = 4 } = options;
  const attempt = attemptWith(options);

  return async <Answer>(call: Call): Promise<Answer> => {
    // Serialized once: a retry sends the same bytes, even if the object changes meanwhile.
    const body = call.body === undefined ? null : JSON.stringify(call.body, refuseVoid);
    const failure = (error: PosthornError, attempts: number): PosthornError =>
      Object.assign(error, { attempts, idempotencyKey: call.idempotencyKey ?? null });

    for (let attempts = 1; ; attempts += 1) {
      if (call.signal?.aborted) throw failure(abortedBy(call.signal), attempts - 1);
      const outcome = await attempt(call, body);
      if (!(outcome instanceof PosthornError)) return outcome.answer as Answer;

      const waitMs = waitBefore(outcome, attempts);
      if (attempts > maxRetries || waitMs === null) throw failure(outcome, attempts);
      await wait(waitMs, call.signal);
    }
  };
}

/** Null if another attempt would not help, or not soon. */
function waitBefore(error: PosthornError, attempts: number): number | null {
  if (error.status !== null && !PASSING_STATUSES.has(error.status)) return null;

  // The jitter keeps clients that failed together from coming back together.
  const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_BACKOFF_MS);
  const planned = backoffMs * (0.5 + Math.random() / 2);
  const asked = (error.retryAfterSeconds ?? 0) * 1000;
  return asked > LONGEST_WAIT_MS ? null : Math.max(planned, asked);
}

type Outcome = { answer: unknown } | PosthornError;

function attemptWith({ apiKey, baseUrl, timeoutMs = 30_000, fetch }: PosthornOptions) {
  const base = readBaseUrl(baseUrl);
  const send = fetch ?? globalThis.fetch;

  return async (call: Call, body: string | null): Promise<Outcome> => {
    const query = call.query?.size ? `?${call.query.toString()}` : "";
    const url = `${base}${call.path}${query}`;
    const deadline = AbortSignal.timeout(timeoutMs);
    // Built here, so that a request that cannot be sent throws at once instead of being retried.
    const request = {
      method: call.method,
      headers: headersOf(call, apiKey),
      body,
      signal: call.signal ? AbortSignal.any([call.signal, deadline]) : deadline,
      // A redirect would send the key to another host; no operation redirects.
      redirect: "manual" as const,
    };
    try {
      const response = await send(url, request);
      return readAnswer(url, response, await response.text());
    } catch (cause) {
      if (call.signal?.aborted) return abortedBy(call.signal);
      return connectionError(base, cause, deadline.aborted ? timeoutMs : null);
    }
  };
}

/** JSON makes these null, meaning "left out": a scheduled message would be sent at once. */
function refuseVoid(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const given = this[name];
  if (given instanceof Date && Number.isNaN(given.getTime()))
    throw new TypeError(`${name} is an invalid Date.`);
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError(`${name} is ${value}; pass a finite number.`);
  return value;
}

function headersOf({ body, idempotencyKey }: Call, apiKey: string): Headers {
  const headers = new Headers({ "x-api-key": apiKey, accept: "application/json" });
  if (body !== undefined) headers.set("content-type", "application/json");
  if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
  return headers;
}

function readAnswer(url: string, response: Response, text: string): Outcome {
  const json = parse(text);
  if (response.ok && json !== undefined) return { answer: json };

  const told = (json as { error?: Partial<ToldError> } | undefined)?.error;
  const { status, headers } = response;
  const retryAfterSeconds = readRetryAfter(headers.get("retry-after"));
  const requestId = told?.requestId ?? headers.get("x-request-id");
  if (typeof told?.code !== "string") {
    const message = `${url} answered ${status}, but not with Posthorn's JSON.`;
    const code = "ANSWER_UNREADABLE";
    return new PosthornError({ code, message, status, requestId, retryAfterSeconds });
  }
  const { code, message = code, docUrl = null } = told;
  const details = Array.isArray(told.details) ? told.details : [];
  const sentence = [message, ...details.map(describe)].join(" ");
  const facts = { code, message: sentence, status, details, docUrl, requestId, retryAfterSeconds };
  return new PosthornError(facts);
}

type ToldError = {
  code: string;
  message: string;
  details: ErrorDetail[];
  docUrl: string | null;
  requestId: string;
};

function describe({ field, message }: ErrorDetail): string {
  return field === null ? message : `${field}: ${message}`;
}

function abortedBy({ reason }: AbortSignal): PosthornError {
  const message = `The signal aborted the call: ${wordsOf(reason)}`;
  return new PosthornError({ code: "ABORTED", message, cause: reason });
}

function connectionError(base: string, cause: unknown, timeoutMs: number | null): PosthornError {
  if (timeoutMs !== null) {
    const message = `${base} did not answer within ${timeoutMs} ms.`;
    return new PosthornError({ code: "TIMED_OUT", message, cause });
  }
  const inner = cause instanceof Error ? ((cause.cause as Error | undefined) ?? cause) : cause;
  const words =
    (inner as { code?: unknown } | undefined)?.code === "ERR_SSL_WRONG_VERSION_NUMBER"
      ? "it does not speak TLS; try http://"
      : wordsOf(inner);
  const message = `${base} could not be reached: ${words}`;
  return new PosthornError({ code: "CONNECTION_FAILED", message, cause });
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Accepts seconds, or a date, as proxies send it. */
function readRetryAfter(value: string | null): number | null {
  if (value === null || value.trim() === "") return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const ms = Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, Math.ceil(ms / 1000));
}

/** Accepts both `https://host` and `https://host/v1`. */
function readBaseUrl(baseUrl: string): string {
  if (!/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl))
    throw new TypeError(
      `baseUrl must be an address such as https://sms.example.com, not "${baseUrl}".`,
    );
  const { username, password } = new URL(baseUrl);
  if (username || password || /[?#]/.test(baseUrl))
    throw new TypeError("baseUrl must have no user name, password, query or fragment.");
  return baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
  // Only the signal makes it reject.
  await sleep(ms, undefined, signal && { signal }).catch(() => {});
}
