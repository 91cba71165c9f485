import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Clock, type SpanContext, newSpanId, type Tracer, traceOf } from "#platform";

export type Trace = SpanContext & { parentId?: string; startedAt: Date };

/** Machines call these all day long; a trace of them interests nobody. */
const UNTRACED = new Set(["/healthz", "/readyz", "/metrics"]);

/** Records a span for every request that has a route. Call it before routes are registered. */
export function traceRequests(
  app: FastifyInstance,
  { tracer, clock }: { tracer: Tracer; clock: Clock },
): void {
  app.decorateRequest("trace", undefined);
  app.addHook("onRequest", (request, _reply, done) => {
    request.trace = { ...traceOf(request.id), startedAt: clock.now() };
    done();
  });
  // Only after the body was read, because reading it loses the asynchronous context.
  app.addHook("preHandler", (request, _reply, done) => {
    const trace = request.trace as Trace;
    Object.assign(trace, request.admission ? callersTrace(request) : {});
    tracer.within(trace, done);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { url = "" } = request.routeOptions;
    if (request.trace && url !== "" && !UNTRACED.has(url)) {
      tracer.record({
        ...request.trace,
        name: `${request.method} ${url}`,
        kind: "server",
        endedAt: clock.now(),
        attributes: {
          "http.request.method": request.method,
          "http.route": url,
          "http.response.status_code": reply.statusCode,
          "posthorn.request_id": request.id,
        },
        isFailed: reply.statusCode >= 500,
      });
    }
    done();
  });
}

/**
 * A caller with a valid key may have the request in its own trace (W3C `traceparent`). Only
 * well-formed ids are taken from it. Whether the trace is sampled is never the caller's choice.
 */
function callersTrace(request: FastifyRequest): Partial<Trace> {
  const context = readTraceparent(request.headers["traceparent"]);
  return context ? { traceId: context.traceId, parentId: context.spanId, spanId: newSpanId() } : {};
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

export function readTraceparent(header: string | string[] | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = ""] = TRACEPARENT.exec(String(header ?? "")) ?? [];
  const isWhole = /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId);
  return isWhole ? { traceId, spanId } : undefined;
}
