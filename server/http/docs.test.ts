import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, silentLog, systemClock } from "#platform";
import { serveDocs } from "./docs.ts";
import { createHttpServer } from "./server.ts";

test("the script of the API reference is read by one thread, however many ask for it at once", async () => {
  const app = createHttpServer({
    publicUrl: "http://posthorn.test",
    bodyLimit: 1_000,
    trustProxy: [],
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  serveDocs(app, { version: "0.0.0" });
  let threads = 0;
  process.on("worker", () => (threads += 1));
  const ask = () => app.inject({ url: "/docs/scalar.js", headers: { host: "x" } });

  const answers = await Promise.all([ask(), ask(), ask()]);
  await app.close();

  assert.equal(threads, 1);
  for (const { statusCode, rawPayload } of answers) {
    assert.equal(statusCode, 200);
    assert.ok(rawPayload.length > 1_000_000);
  }
});
