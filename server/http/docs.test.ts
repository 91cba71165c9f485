import assert from "node:assert/strict";
import { test } from "node:test";
import { fastify } from "fastify";
import { serveDocs } from "./docs.ts";

test("the script of the API reference is read by one thread, however many ask for it at once", async () => {
  const app = fastify();
  serveDocs(app, { version: "0.0.0" });
  let threads = 0;
  process.on("worker", () => (threads += 1));
  const ask = () => app.inject("/docs/scalar.js");

  const answers = await Promise.all([ask(), ask(), ask()]);
  await app.close();

  assert.equal(threads, 1);
  for (const { statusCode, rawPayload } of answers) {
    assert.equal(statusCode, 200);
    assert.ok(rawPayload.length > 1_000_000);
  }
});
