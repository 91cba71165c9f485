/**
 * A worker thread, started when the API reference is first asked for: loading the library's plugin
 * takes a quarter of a second, and memory that is freed with the thread. The package that has the
 * script as a file would bring along 240 other packages.
 */
import { parentPort } from "node:worker_threads";
import plugin from "@scalar/fastify-api-reference";
import { fastify } from "fastify";

await using app = fastify();
app.register(plugin, { configuration: { url: "/openapi.json" } });
const { rawPayload } = await app.inject("/reference/js/scalar.js");
parentPort?.postMessage(rawPayload, [rawPayload.buffer as ArrayBuffer]);
