import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A span as received, with its attributes as a plain object. */
export type ExportedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string | number>;
  links: { traceId: string; spanId: string }[];
  status: { code?: number };
};

export type Collector = AsyncDisposable & {
  url: string;
  spans: ExportedSpan[];
  /** All request bodies, unparsed. */
  bodies: string[];
  headers: Record<string, string | string[] | undefined>[];
};

type Attribute = { key: string; value: { stringValue?: string; intValue?: string } };
type Body = {
  resourceSpans: {
    scopeSpans: { spans: (Omit<ExportedSpan, "attributes"> & { attributes: Attribute[] })[] }[];
  }[];
};

/** An OpenTelemetry collector that keeps what it receives and answers with the given status. */
export async function startCollector(status = 200): Promise<Collector> {
  const collector: Omit<Collector, "url" | typeof Symbol.asyncDispose> = {
    spans: [],
    bodies: [],
    headers: [],
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      collector.bodies.push(body);
      collector.headers.push({ ...request.headers, path: request.url });
      if (status === 200) collector.spans.push(...spansOf(JSON.parse(body) as Body));
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return Object.assign(collector, {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

function spansOf({ resourceSpans }: Body): ExportedSpan[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map((span) => ({ ...span, attributes: Object.fromEntries(span.attributes.map(plain)) }));
}

function plain({ key, value }: Attribute): [string, string | number] {
  return [key, value.stringValue ?? Number(value.intValue)];
}
