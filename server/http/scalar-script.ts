/**
 * A thread of its own, started when the API reference is first asked for: to load the library's plugin
 * takes a quarter of a second, and memory that goes with the thread. The package that has the script as
 * a file brings 240 others along.
 */
import { parentPort } from "node:worker_threads";
import plugin from "@scalar/fastify-api-reference";
import { fastify } from "fastify";

await using app = fastify();
app.register(plugin, { configuration: { url: "/openapi.json" } });
const { rawPayload } = await app.inject("/reference/js/scalar.js");
parentPort?.postMessage(rawPayload, [rawPayload.buffer as ArrayBuffer]);
