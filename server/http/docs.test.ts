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

test("everything that the reference's plain pages and the page for machines link to is there", async () => {
  const app = fastify();
  serveDocs(app, { version: "0.0.0" });
  const page = async (url: string) => {
    const { statusCode, body } = await app.inject(url);
    assert.equal(statusCode, 200, url);
    return [...body.matchAll(/(?:href="|\]\()(\/[^"#)]+)/g)].map(([, link = ""]) => link);
  };

  const machines = await page("/llms.txt");
  const plain = [...(await page("/docs/api")), ...(await page("/docs/errors"))];
  for (const link of new Set([...machines, ...plain])) await page(link);

  assert.deepEqual(machines, ["/docs/api", "/openapi.json", "/docs/errors"]);
  assert.ok(plain.length > 20, "the errors are linked");
});
