import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import type { Log } from "./log.ts";

/** A place in a trace: 32 and 16 hexadecimal digits. */
export type SpanContext = { traceId: string; spanId: string };

/** Something that took time, as in OpenTelemetry. Never holds a text, a phone number or a key. */
export type Span = SpanContext & {
  parentId?: string;
  name: string;
  kind: SpanKind;
  startedAt: Date;
  endedAt: Date;
  attributes: Record<string, string | number | null>;
  links?: readonly SpanContext[];
  isFailed?: boolean;
};

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

export type Tracer = {
  /** The context that was given to `within`, for code that runs inside it. */
  current(): SpanContext | undefined;
  within<Result>(context: SpanContext, work: () => Result): Result;
  record(span: Span): void;
  /** Records a step of a message's way, on any node and however much later. */
  step(messageId: string, span: Omit<Span, "traceId" | "spanId" | "parentId">): void;
};

/**
 * Makes spans for the sampled traces and passes them on. Sampling depends on the trace id, so that
 * all nodes keep the same traces complete. What a caller asks for does not count.
 */
export function tracer({ share, onSpan }: { share: number; onSpan: (span: Span) => void }): Tracer {
  const storage = new AsyncLocalStorage<SpanContext>();
  const bound = share * 2 ** 56;
  const record = (span: Span) => {
    if (Number.parseInt(span.traceId.slice(-14), 16) < bound) onSpan(span);
  };
  return {
    current: () => storage.getStore(),
    within: (context, work) => storage.run(context, work),
    record,
    step(messageId, span) {
      const { traceId, spanId: parentId } = traceOf(messageId);
      record({ ...span, traceId, spanId: newSpanId(), parentId });
    },
  };
}

/**
 * The trace of a message or request is its id. Whoever has the id can continue the trace, in
 * another process and after a crash, and nothing needs to be stored for it.
 */
export function traceOf(id: string): SpanContext {
  const traceId = id.replaceAll("-", "");
  return { traceId, spanId: traceId.slice(16) };
}

export function newSpanId(): string {
  return randomBytes(8).toString("hex");
}

/** Adds the trace to lines that are logged on behalf of a request. */
export function tracedLog(log: Log, { current }: Tracer): Log {
  const traced =
    (write: Log["info"]): Log["info"] =>
    (fields, sentence) => {
      const context = current();
      write(context ? { ...fields, traceId: context.traceId } : fields, sentence);
    };
  return {
    debug: traced((fields, sentence) => log.debug(fields, sentence)),
    info: traced((fields, sentence) => log.info(fields, sentence)),
    warn: traced((fields, sentence) => log.warn(fields, sentence)),
    error: traced((fields, sentence) => log.error(fields, sentence)),
  };
}
