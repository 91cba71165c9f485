import type { FastifyInstance } from "fastify";
import type { Metrics } from "#platform";

/** What is not ready, in words; nothing where all is well. */
export type Readiness = () => Promise<string[]>;

/** `/healthz` speaks for the process, `/readyz` for what it needs. */
export function serveHealth(app: FastifyInstance, { readiness }: { readiness: Readiness }): void {
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const missing = await readiness();
    return reply
      .code(missing.length === 0 ? 200 : 503)
      .send({ status: missing.length === 0 ? "ready" : "not ready", missing });
  });
}

/** `/metrics` speaks to Prometheus. */
export function serveMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get("/metrics", async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
}
