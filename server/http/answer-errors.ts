import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Detail } from "#contract";
import {
  DatabaseUnavailable,
  type Clock,
  isOverstrained,
  type Log,
  type Metrics,
  newId,
  severityOf,
} from "#platform";
import { Problem, problemBody, unavailable } from "./problem.ts";

export type Answering = {
  publicUrl: string;
  /** Headers that every answer has. */
  headers: Record<string, string>;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Connections whose request was refused, and whose remaining body is being discarded. */
  answered: WeakSet<Socket>;
  /** Connections that got their last answer, and are read only so that the client sees it. */
  ended: WeakSet<Socket>;
  /** Connections whose last answer waits until earlier ones are written. */
  waiting: WeakSet<Socket>;
};

/** Limit for discarding the rest of a refused body. A client that writes more is cut off. */
const MAX_DISCARDED_OCTETS = 64 * 1_048_576;

const NOT_KEPT = { "cache-control": "no-store" };

/** Answers a failed request with the one shape that all errors have. */
export async function sendError(
  options: Answering,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { problem, cause } = await recheck(request, error);
  logProblem(options.log, cause, request, problem);
  options.metrics.refused.labels(problem.code).inc();
  reply
    .code(problem.status)
    .headers({ "x-request-id": request.id, ...options.headers, ...NOT_KEPT })
    .headers({ ...challengeOf(problem), ...problem.headers })
    .type("application/json; charset=utf-8")
    .serializer(JSON.stringify);
  const body = problemBody(problem, request.id, options.publicUrl);
  if (request.raw.complete || request.raw.readableEnded) return reply.send(body);
  const text = JSON.stringify(body);
  reply.header("content-length", Buffer.byteLength(text));
  return reply.send(Readable.from(answerThenDiscard(text, request, options.answered)));
}

/** Every 401 names its scheme. Browsers know neither scheme, so they open no sign-in window. */
function challengeOf({ status, code }: Problem): Record<string, string> {
  if (status !== 401) return {};
  const scheme = code.startsWith("API_KEY") ? "ApiKey" : "Session";
  return { "www-authenticate": `${scheme} realm="Posthorn"` };
}

/**
 * Writes the whole answer at once, but ends it only after the rest of the request was read: closing
 * earlier would reset the connection, and a client that is still writing would never see the
 * answer. Bounded in size here, and in time by the request timeout.
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
    // Leaving the loop destroys the request, and so ends the connection.
    if (left < 0) break;
  }
  answered.delete(raw.socket);
}

/** A route may have a last word on an error, such as when it only remembered the key so far. */
async function recheck(
  request: FastifyRequest,
  error: unknown,
): Promise<{ problem: Problem; cause: unknown }> {
  const problem = asProblem(error);
  try {
    return { problem: (await request.lastWord?.(problem)) ?? problem, cause: error };
  } catch (cause) {
    return { problem: asProblem(cause), cause };
  }
}

/** Our own faults are logged as such. Refusals are logged for debugging only. */
function logProblem(log: Log, error: unknown, request: FastifyRequest, problem: Problem): void {
  const { status, code } = problem;
  const says = `request ${request.id} was answered with ${status}`;
  const fields = { requestId: request.id, code, path: request.routeOptions.url };
  const isRefused = error instanceof Problem && code === "UNAVAILABLE";
  if (status >= 500 && !isRefused) log[severityOf(error)]({ error, ...fields }, says);
  else log.debug(fields, says);
}

/** PostgreSQL's code for NUL in a text that nothing checked; it no longer tells which field. */
const CHARACTER_NOT_STORABLE = "22021";
const NUL_SOMEWHERE: Detail = {
  field: null,
  code: "FIELD_INVALID",
  message: "A text must not contain a NUL character.",
};

/** Turns an error into an answer. Our own faults become INTERNAL, which leaks nothing. */
function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DatabaseUnavailable && !error.isCommitUnknown)
    return unavailable(
      isOverstrained(error)
        ? "The database is too busy or full right now."
        : "The database cannot be reached.",
    );
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

/** Answers what is not valid HTTP in the same shape, written by hand, and ends the connection. */
export function answerRaw(
  options: Answering,
  error: Error & { code?: string },
  socket: Socket,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy(error);
  const problem = new Problem(RAW_PROBLEMS[error.code ?? ""] ?? "REQUEST_INVALID");
  inTurn(options, socket, () => {
    // The request was refused already. It gets only that answer, which is written in this turn.
    if (options.answered.has(socket)) setImmediate(() => socket.destroySoon());
    else endRaw(options, problem, socket);
  });
}

/** We are no proxy. Node has let go of the connection, so all of it is ours to end. */
export function refuseConnect(options: Answering, socket: Answered): void {
  socket.on("error", () => {});
  // Nothing else passes "drain" to an earlier answer, or notices that the client left.
  socket.on("drain", () => socket._httpMessage?.emit("drain"));
  socket.resume();
  inTurn(options, socket, () => {
    endRaw(options, new Problem("METHOD_NOT_ALLOWED", [], { Allow: "" }), socket);
    socket.destroySoon();
  });
}

/**
 * Waits until earlier, complete requests are answered: a client would take this answer for theirs,
 * and believe that an accepted message was refused. Later unparsable bytes get no answer.
 */
function inTurn(options: Answering, socket: Socket, answer: () => void): void {
  const before = wholeUnderWay(socket);
  if (!before) return answer();
  if (options.waiting.has(socket)) return;
  options.waiting.add(socket);
  before.once("close", () => {
    options.waiting.delete(socket);
    if (socket.writable) inTurn(options, socket, answer);
  });
}

/** `_httpMessage` is what Node itself looks at before it answers in our place. */
type Answered = Socket & { _httpMessage?: ServerResponse | null };

function wholeUnderWay({ _httpMessage: answer }: Answered): ServerResponse | undefined {
  return answer?.req.complete ? answer : undefined;
}

function endRaw(options: Answering, problem: Problem, socket: Socket): void {
  options.ended.add(socket);
  const requestId = newId(options.clock.now().getTime());
  const body = JSON.stringify(problemBody(problem, requestId, options.publicUrl));
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "X-Request-Id": requestId,
    ...options.headers,
    ...NOT_KEPT,
    ...problem.headers,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
