import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, silentLog, spanExport, systemClock, traceOf } from "#platform";
import type { Span } from "../../server/platform/trace.ts";
import { readTraceparent } from "../../server/http/trace-requests.ts";
import { startApi } from "../support/api.ts";
import { type Collector, startCollector } from "../support/collector.ts";
import { eventually } from "../support/eventually.ts";
import { until } from "../support/until.ts";
import { startReceiver } from "../support/receiver.ts";
import { readScrape, scrape } from "../support/scrape.ts";
import { startSending } from "../support/sending.ts";

const TO = { recipient: "4915112345678", text: "A text that nobody else may read" };
const CALLER = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

function settings({ url }: Collector, more: Record<string, string> = {}) {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...more };
}

test("a message's way from acceptance to its last webhook is one trace, linked from its request's", async () => {
  await using collector = await startCollector();
  await using receiver = await startReceiver();
  await using world = await startSending({
    smscs: [{}],
    api: { settings: settings(collector, { OTEL_EXPORTER_OTLP_HEADERS: "x-token=a%20b" }) },
  });

  const answer = await world.api.send(
    { ...TO, callbackUrl: receiver.url },
    { headers: { traceparent: TRACEPARENT } },
  );
  const { messageId } = answer.json() as { messageId: string };
  await receiver.arrived(2);
  const ofMessage = () =>
    collector.spans.filter(({ traceId }) => traceId === traceOf(messageId).traceId);
  await until("all spans of the message have arrived", () => ofMessage().length >= 5);
  await until("the request's span has arrived", () => requestSpan() !== undefined);

  function requestSpan() {
    return collector.spans.find(({ name }) => name === "POST /v1/messages");
  }
  const names = ofMessage()
    .map(({ name }) => name)
    .toSorted();
  assert.deepEqual(names, ["message", "receipt", "submit", "webhook attempt", "webhook attempt"]);
  const root = ofMessage().find(({ name }) => name === "message");
  assert.equal(root?.parentSpanId, undefined);
  for (const step of ofMessage().filter((span) => span !== root))
    assert.equal(step.parentSpanId, root?.spanId, step.name);
  const request = requestSpan();
  assert.deepEqual([request?.traceId, request?.parentSpanId], [CALLER.traceId, CALLER.spanId]);
  assert.deepEqual(root?.links, [{ traceId: CALLER.traceId, spanId: request?.spanId }]);
  const accept = collector.spans.find(({ name }) => name === "accept");
  assert.equal(accept?.parentSpanId, request?.spanId);
  assert.deepEqual(accept?.links, [traceOf(messageId)]);
  assert.equal(collector.headers[0]?.["x-token"], "a b");
  assert.equal(collector.headers[0]?.["path"], "/v1/traces");
});

test("no span holds a text, a full number, a key, a secret or a receiver's address", async () => {
  await using collector = await startCollector();
  await using receiver = await startReceiver();
  await using world = await startSending({ api: { settings: settings(collector) } });

  const { messageId } = await world.send({ ...TO, callbackUrl: `${receiver.url}?token=hush` });
  await world.reached(messageId, "DELIVERED");
  await receiver.arrived(2);
  await until("webhook spans have arrived", () =>
    collector.spans.some(({ name }) => name === "webhook attempt"),
  );

  const all = collector.bodies.join("\n");
  for (const secret of [TO.text, TO.recipient, world.api.key, "hush", "whsec_"])
    assert.ok(!all.includes(secret), `spans hold ${secret}`);
});

test("a traceparent is ignored if it is malformed or comes without a valid key", async () => {
  await using collector = await startCollector();
  await using api = await startApi({ settings: settings(collector) });
  const headers = { traceparent: TRACEPARENT };

  await api.send(TO, { key: "sms_wrong", headers });
  await api.send(TO, { headers: { traceparent: TRACEPARENT.toUpperCase() } });
  await api.inject({ method: "GET", url: "/openapi.json", headers });
  await until("all spans have arrived", () => collector.spans.length >= 3);

  assert.deepEqual(
    collector.spans.filter(({ traceId }) => traceId === CALLER.traceId),
    [],
  );
  for (const header of [undefined, "", `ff${TRACEPARENT.slice(2)}`, `${TRACEPARENT}-x`, "00-0-0-0"])
    assert.equal(readTraceparent(header), undefined);
  const zeros = `00-${"0".repeat(32)}-${CALLER.spanId}-01`;
  assert.equal(readTraceparent(zeros), undefined);
  assert.deepEqual(readTraceparent(TRACEPARENT), CALLER);
});

test("with a sampling share of 0 nothing is exported, whatever the caller's flag says", async () => {
  await using collector = await startCollector();
  {
    const share = { OTEL_TRACES_SAMPLER_ARG: "0" };
    await using api = await startApi({ settings: settings(collector, share) });
    await api.send(TO, { headers: { traceparent: TRACEPARENT } });
    // Stopping exports what has accumulated.
  }

  assert.deepEqual(collector.bodies, []);
});

test("collected spans are exported on stop", async () => {
  await using collector = await startCollector();
  {
    await using api = await startApi({ settings: settings(collector) });
    await api.send(TO);
  }

  assert.ok(collector.spans.some(({ name }) => name === "POST /v1/messages"));
});

test("a collector that is away or refuses holds up nothing, and lost spans are counted", async () => {
  await using refusing = await startCollector(503);
  for (const url of [refusing.url, "http://127.0.0.1:1"]) {
    await using api = await startApi({ settings: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });

    const answer = await api.send(TO);
    await lost(api);

    assert.equal(answer.statusCode, 202);
  }
});

async function lost(api: Parameters<typeof scrape>[0]): Promise<void> {
  await eventually("lost spans are counted", async () => {
    const { value } = await scrape(api);
    return (value("posthorn_spans_dropped_total", { reason: "collector" }) ?? 0) > 0;
  });
}

test("spans beyond the limit, and those undelivered at a stop, are dropped and counted", async () => {
  const metrics = createMetrics();
  const resource = { "service.name": "test" };
  const exporter = spanExport({
    endpoint: "http://127.0.0.1:1",
    headers: undefined,
    resource,
    log: silentLog,
    metrics,
  });
  const at = systemClock.now();
  const span: Span = {
    ...CALLER,
    name: "one of many",
    kind: "internal",
    startedAt: at,
    endedAt: at,
    attributes: {},
  };

  for (let n = 0; n < 10_000; n += 1) exporter.add(span);

  const { value } = readScrape(await metrics.registry.metrics());
  assert.equal(value("posthorn_spans_dropped_total", { reason: "full" }), 10_000 - 8_192);

  await exporter.flush();
  const atTheEnd = readScrape(await metrics.registry.metrics());
  const lostAs = (reason: string) => atTheEnd.value("posthorn_spans_dropped_total", { reason });
  assert.deepEqual([lostAs("collector"), lostAs("stop")], [512, 8_192 - 512]);
});
