import type { FastifyInstance } from "fastify";
import type { Metrics } from "#platform";
import { Problem, problemBody } from "./problem.ts";

/** What is not ready, in words; empty if all is well. */
export type Readiness = () => Promise<string[]>;

/** `/healthz` reports on the process, `/readyz` on what it needs. */
export function serveHealth(
  app: FastifyInstance,
  { readiness, publicUrl }: { readiness: Readiness; publicUrl: string },
): void {
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (request, reply) => {
    const missing = await readiness();
    reply.header("cache-control", "no-store");
    if (missing.length === 0) return { status: "ready", missing };
    const problem = problemBody(new Problem("UNAVAILABLE"), request.id, publicUrl);
    return reply
      .code(503)
      .header("retry-after", "1")
      .send({ status: "not ready", missing, ...problem });
  });
}

/** `/metrics` is for Prometheus. */
export function serveMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get("/metrics", async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
}
