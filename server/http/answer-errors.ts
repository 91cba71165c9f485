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
  /** What every answer has. */
  headers: Record<string, string>;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Connections whose request is refused already, while the rest of its body is thrown away. */
  answered: WeakSet<Socket>;
  /** Connections that have had their last answer, and are read only so that the client sees it. */
  ended: WeakSet<Socket>;
  /** Connections whose last answer waits until others are written. */
  waiting: WeakSet<Socket>;
};

/** Of a body that is refused before it came whole; a client that writes more is cut off. */
const MAX_DISCARDED_OCTETS = 64 * 1_048_576;

const NOT_KEPT = { "cache-control": "no-store" };

/** Answers what went wrong with a request in the one shape of errors. */
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

/** Every 401 says what it asks for. No browser knows these schemes, so none opens a window of its own. */
function challengeOf({ status, code }: Problem): Record<string, string> {
  if (status !== 401) return {};
  const scheme = code.startsWith("API_KEY") ? "ApiKey" : "Session";
  return { "www-authenticate": `${scheme} realm="Posthorn"` };
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

/** Faults of ours as such; what was refused only for those who look for it. */
function logProblem(log: Log, error: unknown, request: FastifyRequest, problem: Problem): void {
  const { status, code } = problem;
  const says = `request ${request.id} was answered with ${status}`;
  const fields = { requestId: request.id, code, path: request.routeOptions.url };
  const isRefused = error instanceof Problem && code === "UNAVAILABLE";
  if (status >= 500 && !isRefused) log[severityOf(error)]({ error, ...fields }, says);
  else log.debug(fields, says);
}

/** PostgreSQL's, for NUL in a text that was not judged before, when the field can no longer be named. */
const CHARACTER_NOT_STORABLE = "22021";
const NUL_SOMEWHERE: Detail = {
  field: null,
  code: "FIELD_INVALID",
  message: "A text must not contain a NUL character.",
};

/** An error as an answer: what is not ours to explain is INTERNAL, and leaks nothing. */
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

/** What cannot be parsed as HTTP gets the same shape, written by hand, and the connection ends. */
export function answerRaw(
  options: Answering,
  error: Error & { code?: string },
  socket: Socket,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy(error);
  const problem = new Problem(RAW_PROBLEMS[error.code ?? ""] ?? "REQUEST_INVALID");
  inTurn(options, socket, () => {
    // Refused before all of it was read: one request has one answer, written within this turn of the loop.
    if (options.answered.has(socket)) setImmediate(() => socket.destroySoon());
    else endRaw(options, problem, socket);
  });
}

/** There is no way through us to elsewhere. Node has let go of the connection: all of it is ours to end. */
export function refuseConnect(options: Answering, socket: Answered): void {
  socket.on("error", () => {});
  // Nobody else tells an answer before this one that it may go on, or sees the client leave.
  socket.on("drain", () => socket._httpMessage?.emit("drain"));
  socket.resume();
  inTurn(options, socket, () => {
    endRaw(options, new Problem("METHOD_NOT_ALLOWED", [], { Allow: "" }), socket);
    socket.destroySoon();
  });
}

/**
 * After the answers to requests that came whole before: a client would take this one for theirs, and a
 * message that is accepted for refused. Whatever else cannot be parsed meanwhile gets no answer of its own.
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

/** By what Node goes by itself, before it answers in our place. */
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
