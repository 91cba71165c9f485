import { createHttpServer } from "#http";
import { createMetrics, silentLog, systemClock } from "#platform";

/** The plain HTTP server, without any operations. */
export function bareServer(given: Partial<Parameters<typeof createHttpServer>[0]> = {}) {
  return createHttpServer({
    publicUrl: "http://posthorn.test",
    bodyLimit: 1_000,
    trustProxy: [],
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    ...given,
  });
}
