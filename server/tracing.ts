import { type Log, type Metrics, spanExport, tracedLog, tracer as createTracer } from "#platform";
import type { Config } from "./settings.ts";
import { version } from "./version.ts";

type Given = { config: Config; nodeId: string; metrics: Metrics; log: Log };

/** Traces, and a log that names them, if a collector is configured; otherwise the log as it is. */
export function tracing({ config, nodeId, metrics, log }: Given) {
  if (!config.tracesEndpoint) return { spans: undefined, tracer: undefined, log };
  const spans = spanExport({
    endpoint: config.tracesEndpoint,
    headers: config.tracesHeaders,
    resource: {
      "service.name": "posthorn",
      "service.version": version,
      "service.instance.id": nodeId,
    },
    log,
    metrics,
  });
  const tracer = createTracer({ share: config.tracesShare, onSpan: spans.add });
  return { spans, tracer, log: tracedLog(log, tracer) };
}
