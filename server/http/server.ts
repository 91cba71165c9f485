import { createServer as createNodeServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { type Clock, type Log, type Metrics, newId } from "#platform";
import { type Answering, answerRaw, refuseConnect, sendError } from "./answer-errors.ts";
import { dropForwardedPorts } from "./forwarded-for.ts";
import { limitPipelining } from "./limit-pipelining.ts";
import { limitUnread } from "./limit-unread.ts";
import { jsonInvalid, Problem } from "./problem.ts";
import type { Admission } from "./serve-operations.ts";
import type { Trace } from "./trace-requests.ts";

declare module "fastify" {
  interface FastifyInstance {
    fallback: { answer?: Fallback };
  }
  interface FastifyRequest {
    admission?: Admission;
    lastWord?: (problem: Problem) => Promise<Problem>;
    trace?: Trace;
  }
}

export type HttpOptions = {
  publicUrl: string;
  bodyLimit: number;
  /** Addresses of proxies whose forwarded headers are trusted. */
  trustProxy: string[];
  clock: Clock;
  log: Log;
  metrics: Metrics;
};

/** Time limit for headers and body, so that a slow client cannot hold a slot for longer. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_HEADER_OCTETS = 16_384;
/** For requests sent before the port closes: the longest that a busy server keeps taking them. */
const LAST_REQUESTS_MS = 1_000;
/** For answers in progress at closing. A client that has not read its answer by then is cut off. */
const CLOSE_GRACE_MS = 10_000;

/**
 * An HTTP server that gives every answer a request id, and every error the same shape whatever goes
 * wrong. What it serves is registered on it afterwards.
 */
export function createHttpServer(options: HttpOptions): FastifyInstance {
  const { clock } = options;
  const headers = headersOfAll(options.publicUrl);
  const answering: Answering = {
    ...options,
    headers,
    answered: new WeakSet(),
    ended: new WeakSet(),
    waiting: new WeakSet(),
  };
  const app = fastify({
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustProxy.length > 0 ? options.trustProxy : false,
    genReqId: () => newId(clock.now().getTime()),
    requestIdHeader: false,
    routerOptions: { maxParamLength: MAX_HEADER_OCTETS },
    // A request that arrives while the server closes is answered. Only new connections are refused.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    frameworkErrors: (error, request, reply) => void sendError(answering, error, request, reply),
    clientErrorHandler: (error, socket) => answerRaw(answering, error, socket),
    serverFactory: (handle) => listener(handle, clock),
  });
  app.server.on("connect", (_, socket) => refuseConnect(answering, socket as Socket));
  app.decorate("fallback", {});
  const routes = noteRoutes(app);
  readJson(app);
  // A connection that answers its last request while the server closes becomes idle only then, and
  // would keep the server open for the whole keep-alive time.
  app.addHook("preClose", async () => {
    app.server.keepAliveTimeout = 1;
    if (!app.server.listening) return;
    await takeLastRequests(app.server, clock);
    const cancel = clock.timer(CLOSE_GRACE_MS, () => app.server.closeAllConnections());
    app.server.once("close", cancel);
  });
  app.addHook("onRequest", (request, reply, done) => {
    dropForwardedPorts(request.headers);
    reply.header("x-request-id", request.id);
    reply.headers(headers);
    // Before the body is read: if no route takes it, it does not matter what is wrong with it.
    if (request.is404 || isNoId(request, routes))
      return void answerElse(app, request, reply, nothingThere(request, routes)).catch(done);
    const isReadable = hasOneHost(request) && hasPlainBody(request);
    done(isReadable ? undefined : new Problem("REQUEST_INVALID"));
  });
  app.addHook("preHandler", ({ raw }, _reply, done) => {
    // A request that was too slow gets here too, but its client was told that nothing was done.
    done(answering.ended.has(raw.socket) ? new Problem("REQUEST_TIMEOUT") : undefined);
  });
  app.setErrorHandler((error, request, reply) => sendError(answering, error, request, reply));
  app.setNotFoundHandler((request) => {
    throw nothingThere(request, routes);
  });
  return app;
}

/**
 * Closing cuts off connections that are not accepted or whose request is not read yet. It takes one
 * turn of the event loop to accept a connection, and the next one to read from it.
 */
async function takeLastRequests(server: Server, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + LAST_REQUESTS_MS;
  let quietTurns = 0;
  server.on("connection", () => (quietTurns = 0));
  while (quietTurns < 3 && clock.monotonicMs() < untilMs) {
    quietTurns += 1;
    await nextTurn();
  }
}

/** On every answer: browsers must not guess its type, or send our addresses to others. */
function headersOfAll(publicUrl: string): Record<string, string> {
  return {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    ...(publicUrl.startsWith("https:") ? { "strict-transport-security": "max-age=31536000" } : {}),
  };
}

function listener(handle: RequestListener, clock: Clock) {
  const handler = limitPipelining(handle);
  const server = createNodeServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 72_000,
      maxHeaderSize: MAX_HEADER_OCTETS,
      // Node would refuse a request without Host itself, without our error shape and request id.
      requireHostHeader: false,
    },
    handler,
  );
  // A client that has sent everything and closed its side still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  limitUnread(server, clock);
  // Likewise, Node itself would answer an Expect header that it does not know.
  return server.on("checkExpectation", handler);
}

/** HTTP/1.1 requires the header exactly once; earlier versions do not know it. */
function hasOneHost({ raw }: FastifyRequest): boolean {
  if (raw.httpVersionMajor !== 1 || raw.httpVersionMinor === 0) return true;
  let hosts = 0;
  // Node keeps only the first in `headers`. Names and values take turns here.
  for (let n = 0; n < raw.rawHeaders.length; n += 2) {
    if (raw.rawHeaders[n]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts === 1;
}

/** Node undoes the chunks and nothing else: what is compressed too would be read as it is. */
function hasPlainBody({ headers }: FastifyRequest): boolean {
  return /^chunked$/i.test(headers["transfer-encoding"] ?? "chunked");
}

/** Answers a request that no route takes; returns false to have it refused. */
export type Fallback = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

/** Sets what the server does with paths that have no route, such as serving a site's pages. */
export function serveFallback(app: FastifyInstance, answer: Fallback): void {
  app.fallback.answer = answer;
}

async function answerElse(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): Promise<void> {
  const { answer } = app.fallback;
  if (problem.code === "ROUTE_NOT_FOUND" && (await answer?.(request, reply))) return;
  throw problem;
}

type KnownRoute = { method: string; url: string; pattern: RegExp };

/** Whether a path parameter names nothing: it is empty, or the path belongs to another route. */
function isNoId({ params, routeOptions }: FastifyRequest, routes: KnownRoute[]): boolean {
  const { url = "" } = routeOptions;
  if (!url.includes(":")) return false;
  const names = params as Record<string, string>;
  const path = url.replaceAll(/:(\w+)/g, (_, name: string) => names[name] ?? "");
  return Object.values(names).includes("") || routes.some((route) => route.url === path);
}

/** Distinguishes a wrong method from an unknown path. */
function nothingThere(request: FastifyRequest, routes: KnownRoute[]): Problem {
  const path = request.url.split("?", 1)[0] ?? "/";
  const own = routes.filter(({ url }) => url === path);
  const known = own.length > 0 ? own : routes.filter(({ pattern }) => pattern.test(path));
  const allowed = known.map(({ method }) => method);
  return allowed.length > 0 && !allowed.includes(request.method)
    ? new Problem("METHOD_NOT_ALLOWED", [], { allow: allowed.join(", ") })
    : new Problem("ROUTE_NOT_FOUND");
}

/** Records each route as it is registered. */
function noteRoutes(app: FastifyInstance): KnownRoute[] {
  const routes: KnownRoute[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    const literal = url.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
    const pattern = new RegExp(`^${literal.replaceAll(/:\w+/g, "[^/]+").replaceAll("*", ".*")}$`);
    for (const each of [method].flat()) routes.push({ method: each, url, pattern });
  });
  return routes;
}

/** Only UTF-8 JSON is read. The body is exactly what `JSON.parse` returns. */
function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const octets = body as Buffer;
    if (!isPlainUtf8(request)) return done(new Problem("CONTENT_TYPE_UNSUPPORTED"));
    if (octets.length === 0) return done(null, undefined);
    if (!isUtf8(octets)) return done(jsonInvalid("The body is not UTF-8."));
    try {
      done(null, JSON.parse(octets.toString("utf8")));
    } catch (error) {
      done(jsonInvalid(`${(error as SyntaxError).message}.`));
    }
  });
}

function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers["content-type"] ?? "")?.[1];
  const encoding = headers["content-encoding"];
  return (
    (charset === undefined || /^utf-?8$/i.test(charset)) &&
    (encoding === undefined || /^identity$/i.test(encoding))
  );
}
