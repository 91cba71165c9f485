import { createServer as createNodeServer, type RequestListener, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { isUtf8 } from "node:buffer";
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Detail } from "#contract";
import {
  DatabaseUnavailable,
  type Clock,
  type Log,
  type Metrics,
  newId,
  severityOf,
} from "#platform";
import { Problem, problemBody } from "./problem.ts";

export type HttpOptions = {
  publicUrl: string;
  bodyLimit: number;
  /** Addresses of proxies whose forwarded headers are believed. */
  trustProxy: string[];
  clock: Clock;
  log: Log;
  metrics: Metrics;
};

type Serving = HttpOptions & {
  /** Connections whose request is refused already, while the rest of its body is thrown away. */
  answered: WeakSet<Socket>;
};

/** Headers and body must have arrived by then: a slow client holds no slot for longer. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_HEADER_OCTETS = 16_384;
/** For answers under way when the server closes; a client that has not read its own by then is cut off. */
const CLOSE_GRACE_MS = 10_000;
/** Of a body that is refused before it came whole; a client that writes more is cut off. */
const MAX_DISCARDED_OCTETS = 64 * 1_048_576;

/**
 * An HTTP server that gives every answer a request id and every error the one shape, whatever goes
 * wrong. What it serves is registered on it afterwards.
 */
export function createHttpServer(given: HttpOptions): FastifyInstance {
  const options: Serving = { ...given, answered: new WeakSet() };
  const { clock } = options;
  const app = fastify({
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustProxy.length > 0 ? options.trustProxy : false,
    genReqId: () => newId(clock.now().getTime()),
    requestIdHeader: false,
    routerOptions: { maxParamLength: MAX_HEADER_OCTETS },
    // A request that arrives while the server closes is still answered; only new connections are refused.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    frameworkErrors: (error, request, reply) => void sendError(options, error, request, reply),
    clientErrorHandler: (error, socket) => answerRaw(options, error, socket),
    serverFactory: listener,
  });
  app.decorate("fallback", {});
  const routes = noteRoutes(app);
  const headers = headersOfAll(options.publicUrl);
  readJson(app);
  // A connection whose last request was under way when the server began to close is idle after it,
  // and would keep the server for as long as clients may keep theirs.
  app.addHook("preClose", async () => {
    app.server.keepAliveTimeout = 1;
    if (!app.server.listening) return;
    const cancel = clock.timer(CLOSE_GRACE_MS, () => app.server.closeAllConnections());
    app.server.once("close", cancel);
  });
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    reply.headers(headers);
    // Before a body is read: what is wrong with it does not matter where nothing takes it.
    if (request.is404 || isNoId(request, routes))
      return void answerElse(app, request, reply, nothingThere(request, routes)).catch(done);
    done(isWithoutHost(request) ? new Problem("REQUEST_INVALID") : undefined);
  });
  app.setErrorHandler((error, request, reply) => sendError(options, error, request, reply));
  app.setNotFoundHandler((request) => {
    throw nothingThere(request, routes);
  });
  return app;
}

/** On every answer: what is sent is what it says, and no address of ours is told to others. */
function headersOfAll(publicUrl: string): Record<string, string> {
  return {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    ...(publicUrl.startsWith("https:") ? { "strict-transport-security": "max-age=31536000" } : {}),
  };
}

function listener(handler: RequestListener) {
  const server = createNodeServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 72_000,
      maxHeaderSize: MAX_HEADER_OCTETS,
      // Node would refuse a request without Host by itself, without our shape and request id.
      requireHostHeader: false,
    },
    handler,
  );
  // Who has said all it has to say, and closed its side, still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  // The same of an Expect that Node does not know.
  return server.on("checkExpectation", handler);
}

/** HTTP/1.1 asks for the header; earlier versions do not know it. */
function isWithoutHost({ raw }: FastifyRequest): boolean {
  return raw.httpVersionMajor === 1 && raw.httpVersionMinor >= 1 && raw.headers.host === undefined;
}

/** Answers what no route has; false leaves it to be refused. */
export type Fallback = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

type WithFallback = FastifyInstance & { fallback: { answer?: Fallback } };

/** Gives the server something to serve at paths that nothing else has, such as the pages of a site. */
export function serveFallback(app: FastifyInstance, answer: Fallback): void {
  (app as WithFallback).fallback.answer = answer;
}

async function answerElse(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): Promise<void> {
  const { answer } = (app as WithFallback).fallback;
  if (problem.code === "ROUTE_NOT_FOUND" && (await answer?.(request, reply))) return;
  throw problem;
}

type KnownRoute = { method: string; url: string; pattern: RegExp };

/** Whether a route was found by a name in its path that names nothing: empty, or another's own path. */
function isNoId({ params, routeOptions }: FastifyRequest, routes: KnownRoute[]): boolean {
  const { url = "" } = routeOptions;
  if (!url.includes(":")) return false;
  const names = params as Record<string, string>;
  const path = url.replaceAll(/:(\w+)/g, (_, name: string) => names[name] ?? "");
  return Object.values(names).includes("") || routes.some((route) => route.url === path);
}

/** Tells a wrong method from an unknown path. */
function nothingThere(request: FastifyRequest, routes: KnownRoute[]): Problem {
  const path = request.url.split("?", 1)[0] ?? "/";
  const own = routes.filter(({ url }) => url === path);
  const known = own.length > 0 ? own : routes.filter(({ pattern }) => pattern.test(path));
  const allowed = known.map(({ method }) => method);
  return allowed.length > 0 && !allowed.includes(request.method)
    ? new Problem("METHOD_NOT_ALLOWED", [], { allow: allowed.join(", ") })
    : new Problem("ROUTE_NOT_FOUND");
}

/** Notes each route as it is registered. */
function noteRoutes(app: FastifyInstance): KnownRoute[] {
  const routes: KnownRoute[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    const literal = url.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
    const pattern = new RegExp(`^${literal.replaceAll(/:\w+/g, "[^/]+").replaceAll("*", ".*")}$`);
    for (const each of [method].flat()) routes.push({ method: each, url, pattern });
  });
  return routes;
}

/** Only UTF-8 JSON is read; what `JSON.parse` accepts is the body, and nothing else touches it. */
function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const octets = body as Buffer;
    if (!isPlainUtf8(request)) return done(new Problem("CONTENT_TYPE_UNSUPPORTED"));
    if (octets.length === 0) return done(null, undefined);
    if (!isUtf8(octets)) return done(new Problem("JSON_INVALID"));
    try {
      done(null, JSON.parse(octets.toString("utf8")));
    } catch {
      done(new Problem("JSON_INVALID"));
    }
  });
}

function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers["content-type"] ?? "")?.[1];
  const encoding = headers["content-encoding"];
  return (
    (charset === undefined || /^utf-?8$/i.test(charset)) &&
    (encoding === undefined || encoding === "identity")
  );
}

async function sendError(
  options: Serving,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const problem = await recheck(request, asProblem(error));
  logProblem(options.log, error, request, problem);
  options.metrics.refused.labels(problem.code).inc();
  reply
    .code(problem.status)
    .headers({ "x-request-id": request.id, "cache-control": "no-store", ...problem.headers })
    .type("application/json; charset=utf-8")
    .serializer(JSON.stringify);
  const body = problemBody(problem, request.id, options.publicUrl);
  if (request.raw.complete || request.raw.readableEnded) return reply.send(body);
  const text = JSON.stringify(body);
  reply.header("content-length", Buffer.byteLength(text));
  return reply.send(Readable.from(answerThenDiscard(text, request, options.answered)));
}

/**
 * The whole answer at once; its end, after which a connection may be closed, only when the rest of
 * the request was read. A connection closed before is reset, and a client that still writes would never
 * see the answer. Bounded by size here, and in time as every request is.
 */
async function* answerThenDiscard(
  answer: string,
  { raw }: FastifyRequest,
  answered: WeakSet<Socket>,
): AsyncGenerator<string> {
  answered.add(raw.socket);
  yield answer;
  let left = MAX_DISCARDED_OCTETS;
  for await (const chunk of raw as AsyncIterable<Buffer>) {
    left -= chunk.length;
    // Ends the connection with it.
    if (left < 0) break;
  }
  answered.delete(raw.socket);
}

/** A route may have a last word on an error, such as an authentication it had only remembered. */
async function recheck(request: FastifyRequest, problem: Problem): Promise<Problem> {
  const judge = (request as { lastWord?: (problem: Problem) => Promise<Problem> }).lastWord;
  if (!judge) return problem;
  return judge(problem).catch(asProblem);
}

/** Faults of ours as such; what was refused only for those who look for it. */
function logProblem(log: Log, error: unknown, request: FastifyRequest, problem: Problem): void {
  const { status, code } = problem;
  const says = `request ${request.id} was answered with ${status}`;
  const fields = { requestId: request.id, code, path: request.routeOptions.url };
  if (status >= 500) log[severityOf(error)]({ error, ...fields }, says);
  else log.debug(fields, says);
}

/** PostgreSQL's, for NUL in a text that was not judged before, when the field can no longer be named. */
const CHARACTER_NOT_STORABLE = "22021";
const NUL_SOMEWHERE: Detail = {
  field: null,
  code: "FIELD_INVALID",
  message: "A text must not hold a NUL character.",
};

/** An error as an answer: what is not ours to explain is INTERNAL, and leaks nothing. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DatabaseUnavailable)
    return new Problem("UNAVAILABLE", [], { "retry-after": "1" });
  const { code = "", statusCode = 500 } = (error ?? {}) as { code?: string; statusCode?: number };
  if (code === CHARACTER_NOT_STORABLE) return new Problem("VALIDATION_FAILED", [NUL_SOMEWHERE]);
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return new Problem("BODY_TOO_LARGE");
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return new Problem("CONTENT_TYPE_UNSUPPORTED");
  if (statusCode >= 400 && statusCode < 500) return new Problem("REQUEST_INVALID");
  return new Problem("INTERNAL");
}

const RAW_PROBLEMS: Record<string, "HEADERS_TOO_LARGE" | "REQUEST_TIMEOUT"> = {
  HPE_HEADER_OVERFLOW: "HEADERS_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "REQUEST_TIMEOUT",
};

/** What cannot be parsed as HTTP gets the same shape, written by hand, and the connection ends. */
function answerRaw(options: Serving, error: Error & { code?: string }, socket: Socket): void {
  const isAnswered = options.answered.has(socket);
  if (error.code === "ECONNRESET" || !socket.writable || isAnswered)
    return void socket.destroy(error);
  const problem = new Problem(RAW_PROBLEMS[error.code ?? ""] ?? "REQUEST_INVALID");
  const requestId = newId(options.clock.now().getTime());
  const body = JSON.stringify(problemBody(problem, requestId, options.publicUrl));
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ""}\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
