import type { FastifyReply } from "fastify";
import type { TSchema } from "typebox";

type Json = Record<string, unknown>;

/** By schema, once per process: two servers that declare the same answer share it. */
const compiled = new WeakMap<TSchema, (answer: Json) => string>();

/**
 * Answers with what the schema names, and nothing else. It is compiled when it is first asked for: the
 * console has many operations, nobody uses all of them, and the start need not wait. The few of `/v1`
 * are compiled at the start, so that no client waits.
 */
export function sendJson(reply: FastifyReply, schema: TSchema, answer: unknown): FastifyReply {
  let serialize = compiled.get(schema);
  if (!serialize) {
    serialize = reply.compileSerializationSchema(schema as Json);
    compiled.set(schema, serialize);
  }
  return reply.type("application/json; charset=utf-8").send(serialize(answer as Json));
}
