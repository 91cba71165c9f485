import type { FastifyReply } from "fastify";
import type { TSchema } from "typebox";

type Json = Record<string, unknown>;

/** By schema, once per process, so that servers that declare the same answer share it. */
const compiled = new WeakMap<TSchema, (answer: Json) => string>();

/**
 * Sends exactly the fields that the schema names. The serializer is compiled on first use, so that
 * startup does not wait for the console's many operations, of which nobody uses all. The few of
 * `/v1` are compiled at startup, so that no client waits.
 */
export function sendJson(reply: FastifyReply, schema: TSchema, answer: unknown): FastifyReply {
  let serialize = compiled.get(schema);
  if (!serialize) {
    serialize = reply.compileSerializationSchema(schema as Json);
    compiled.set(schema, serialize);
  }
  return reply.type("application/json; charset=utf-8").send(serialize(answer as Json));
}
