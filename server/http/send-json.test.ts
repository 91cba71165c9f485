import assert from "node:assert/strict";
import { test } from "node:test";
import { fastify } from "fastify";
import { Type } from "typebox";
import { consoleOperations } from "#contract";
import { sendJson } from "./send-json.ts";

test("an answer has the fields that its schema names and no other, on every server that declares it", async () => {
  const schema = Type.Object({ name: Type.String() });

  for (const name of ["one", "two"]) {
    const app = fastify();
    app.get("/", (_, reply) => sendJson(reply, schema, { name, password: "x" }));
    const answer = await app.inject("/");
    assert.deepEqual(answer.json(), { name });
    assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
  }
});

test("the answer of every operation of the console can be compiled", async () => {
  const app = fastify();
  app.get("/", (_, reply) => {
    for (const { success } of Object.values(consoleOperations))
      reply.compileSerializationSchema(success.body as unknown as Record<string, unknown>);
    return { isDone: true };
  });

  assert.deepEqual((await app.inject("/")).json(), { isDone: true });
});
