import type { Log } from "./log.ts";
import type { Loop } from "./loop.ts";
import type { Metrics } from "./metrics.ts";
import type { Secret } from "./secret.ts";
import type { Span, SpanKind } from "./trace.ts";

type Options = {
  /** The collector, such as http://127.0.0.1:4318. Spans are posted to /v1/traces below it. */
  endpoint: string;
  /** `name=value` pairs for the collector, separated by commas. */
  headers: Secret | undefined;
  resource: Record<string, string>;
  log: Log;
  metrics: Metrics;
};

export type SpanExport = {
  /** Never waits. Beyond the bound, spans are dropped and counted. */
  add(span: Span): void;
  loop: Loop;
  /** Sends what has gathered, within the time limit of one request, and drops the rest. */
  flush(): Promise<void>;
};

/** A few seconds of a busy node; each takes a few hundred bytes. */
const MAX_WAITING = 8_192;
const MAX_BATCH = 512;
const EVERY_MS = 1_000;
const LIMIT_MS = 5_000;

/** Sends spans to an OpenTelemetry collector as JSON over HTTP (OTLP). Never resends lost ones. */
export function spanExport(options: Options): SpanExport {
  const { log, metrics } = options;
  const sent = metrics.counter("spans_exported_total", "Spans that the collector took.");
  const dropped = metrics.counter("spans_dropped_total", "Spans that were lost, by reason.", [
    "reason",
  ]);
  const url = `${options.endpoint.replace(/\/$/, "")}/v1/traces`;
  const headers = {
    ...readCollectorHeaders(options.headers?.reveal() ?? ""),
    "content-type": "application/json",
  };
  let waiting: Span[] = [];
  let isAway = false;

  async function post(spans: Span[], limit: AbortSignal): Promise<void> {
    const answer = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify(exportRequest(spans, options.resource)),
      redirect: "error",
      signal: limit,
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  }

  async function flush(limit = AbortSignal.timeout(LIMIT_MS)): Promise<number> {
    const batch = waiting.slice(0, MAX_BATCH);
    waiting = waiting.slice(MAX_BATCH);
    if (batch.length === 0) return 0;
    try {
      await post(batch, limit);
      sent.inc(batch.length);
      isAway = false;
    } catch (error) {
      dropped.labels("collector").inc(batch.length);
      if (!isAway) log.warn({ error }, "the collector does not take spans; they are dropped");
      isAway = true;
    }
    return waiting.length > 0 && !isAway ? 1 : 0;
  }

  return {
    add(span) {
      if (waiting.length < MAX_WAITING) waiting.push(span);
      else dropped.labels("full").inc();
    },
    loop: { name: "export traces", idleMs: EVERY_MS, pass: () => flush() },
    async flush() {
      const limit = AbortSignal.timeout(LIMIT_MS);
      while ((await flush(limit)) > 0);
      dropped.labels("stop").inc(waiting.length);
      waiting = [];
    },
  };
}

/** Values are percent-encoded, as OpenTelemetry specifies. Throws if a pair is malformed. */
export function readCollectorHeaders(text: string): Record<string, string> {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^\s*([\w-]+)\s*=(.*)$/s.exec(pair) ?? [];
      if (name === "") throw new Error("A header is not name=value.");
      return [name, decodeURIComponent(value.trim())];
    }),
  );
}

const KINDS: Record<SpanKind, number> = {
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
};

function exportRequest(spans: readonly Span[], resource: Record<string, string>): object {
  const scopeSpans = [{ scope: { name: "posthorn" }, spans: spans.map(spanOf) }];
  return { resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }] };
}

function spanOf(span: Span): object {
  const { traceId, spanId, parentId, name, kind, startedAt, endedAt, links = [] } = span;
  return {
    traceId,
    spanId,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf(span.attributes),
    links,
    status: span.isFailed ? { code: 2 } : {},
  };
}

function nanoseconds(time: Date): string {
  return `${time.getTime()}000000`;
}

function attributesOf(attributes: Record<string, string | number | null>): object[] {
  return Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => ({
      key,
      value: typeof value === "string" ? { stringValue: value } : { intValue: String(value) },
    }));
}
