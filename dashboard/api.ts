import type { ConsoleRoutes, SuccessOf } from "#contract";
import type { Static, TSchema } from "typebox";
import { offline, ofWrite, readFailure } from "./failure.ts";

/**
 * The typed client of `/console`. An operation is called by method and path as in the contract:
 * `call("GET /console/me", {})`. The compiler knows them all, and the bundle has no schemas.
 */
export type Route = keyof ConsoleRoutes;
export type ReadRoute = Extract<Route, `GET ${string}`>;

type Part<O, Name extends string> =
  O extends Record<Name, infer Schema extends TSchema> ? { [K in Name]: Static<Schema> } : object;

type OptionalPart<O, Name extends string> =
  O extends Record<Name, infer Schema extends TSchema> ? { [K in Name]?: Static<Schema> } : object;

/** The input of an operation: its path `params`, `query` and `body`, each as declared. */
export type Input<R extends Route> = Part<ConsoleRoutes[R], "params"> &
  OptionalPart<ConsoleRoutes[R], "query"> &
  Part<ConsoleRoutes[R], "body">;

export type Answer<R extends Route> = SuccessOf<ConsoleRoutes[R]>;

export type CallOptions = {
  signal?: AbortSignal;
  idempotencyKey?: string;
  /** For an operation that asks a third party, and may take longer. */
  deadlineMs?: number;
  /** Marks an operation that changes nothing although its method is that of a write. */
  onlyReads?: boolean;
};

/** Longer than any answer of the service itself takes: after it, the service hangs or is away. */
export const DEADLINE_MS = 30_000;

type Parts = {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
};

/** Calls an operation; throws a `Failure` if the answer is not a success, or none comes. */
export async function call<R extends Route>(
  route: R,
  input: Input<R>,
  options: CallOptions = {},
): Promise<Answer<R>> {
  const method = route.slice(0, route.indexOf(" "));
  const { body } = input as Parts;
  const headers = new Headers();
  if (body !== undefined) headers.set("content-type", "application/json");
  if (options.idempotencyKey) headers.set("idempotency-key", options.idempotencyKey);
  const wish = {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.any([
      AbortSignal.timeout(options.deadlineMs ?? DEADLINE_MS),
      ...(options.signal ? [options.signal] : []),
    ]),
  };
  const isRead = options.onlyReads ?? method === "GET";
  return (await request(addressOf(route, input), wish, isRead)) as Answer<R>;
}

async function request(address: string, init: RequestInit, isRead: boolean): Promise<unknown> {
  const response = await fetch(address, init).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw offline(isRead);
  });
  const text = await response.text().catch(() => {
    throw offline(isRead);
  });
  const body = readJson(text);
  // What sent a success that is no JSON was not the service.
  if (response.ok && body !== undefined) return body;
  const failure = readFailure(response.status, response.headers, body);
  throw isRead ? failure : ofWrite(failure);
}

function readJson(text: string): unknown {
  try {
    return text === "" ? null : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** The address of an operation: for links to CSV files and for the stream. */
export function addressOf<R extends Route>(route: R, input: Input<R>): string {
  const { params = {}, query = {} } = input as Parts;
  const path = route.slice(route.indexOf(" ") + 1);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  );
  return `${filled}${queryOf(query)}`;
}

function queryOf(query: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) {
      if (each !== undefined) parameters.append(name, String(each));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** Make one per form, when it opens. Unlike `crypto.randomUUID`, this works on plain http. */
export function newIdempotencyKey(): string {
  const octets = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("");
}
