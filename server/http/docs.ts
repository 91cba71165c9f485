import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { FastifyInstance } from "fastify";
import {
  type DeliveryErrorCode,
  deliveryErrors,
  type DetailCode,
  detailCodes,
  type ErrorCode,
  errors,
  openApi,
  type Operation,
  operations,
  VERSIONING,
  webhookBodies,
} from "#contract";
import { Problem } from "./problem.ts";

/** As strict as the dashboard's, except that this page's library writes its own styles. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const BOOT = `Scalar.createApiReference("#app", {
  url: "/openapi.json", withDefaultFonts: false, telemetry: false, proxyUrl: "", persistAuth: false,
  hideClientButton: true, showDeveloperTools: "never", agent: { disabled: true }, mcp: { disabled: true },
});`;

/** The API reference, also as plain pages. Made from the contract; loads nothing from outside. */
export function serveDocs(app: FastifyInstance, { version }: { version: string }): void {
  const document = Buffer.from(JSON.stringify(openApi(version)));
  let scalar: Promise<Buffer> | undefined;
  app.get("/openapi.json", (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(document),
  );
  app.get("/docs", (_request, reply) =>
    reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", POLICY)
      .send(REFERENCE),
  );
  app.get("/docs/scalar.js", async (_request, reply) => {
    // One worker serves all who ask at once or read slowly. A failed read is not remembered.
    scalar ??= readScalar().catch((error: unknown) => {
      scalar = undefined;
      throw error;
    });
    return reply
      .type("text/javascript; charset=utf-8")
      .header("cache-control", "max-age=3600")
      .send(await scalar);
  });
  app.get("/docs/boot.js", (_request, reply) =>
    reply.type("text/javascript; charset=utf-8").send(BOOT),
  );
  servePage(app, "/docs/api", () => apiPage());
  servePage(app, "/docs/errors", () => errorsPage());
  servePage(app, "/docs/errors/:code", ({ code = "" }) => {
    if (isKeyOf(errors, code)) return errorPage(code);
    if (isKeyOf(detailCodes, code)) return detailPage(code);
    if (isKeyOf(deliveryErrors, code)) return deliveryPage(code);
    throw new Problem("ROUTE_NOT_FOUND");
  });
  app.get("/llms.txt", (_request, reply) => reply.type("text/plain; charset=utf-8").send(LLMS));
}

async function readScalar(): Promise<Buffer> {
  const reading = new Worker(new URL("./scalar-script.ts", import.meta.url));
  const [script] = (await once(reading, "message")) as [Uint8Array<ArrayBuffer>];
  return Buffer.from(script.buffer, script.byteOffset, script.byteLength);
}

function isKeyOf<Of extends object>(of: Of, code: string): code is string & keyof Of {
  return Object.hasOwn(of, code);
}

function servePage(
  app: FastifyInstance,
  url: string,
  render: (params: Record<string, string>) => string,
): void {
  app.get(url, (request, reply) =>
    reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", POLICY)
      .send(render(request.params as Record<string, string>)),
  );
}

/** A bar above the library's page, in its colours. The first line tells it the bar's height. */
const BAR_STYLE = `:root{--scalar-custom-header-height:40px}
.bar{position:sticky;top:0;z-index:20;box-sizing:border-box;height:40px;padding:0 20px;font:14px/39px system-ui,sans-serif;background:var(--scalar-background-1);border-bottom:1px solid var(--scalar-border-color)}
.bar a{display:inline-block;color:var(--scalar-color-1)}`;

const REFERENCE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>API reference · Posthorn</title><style>${BAR_STYLE}</style></head>
<body><header class="bar"><a href="/">Back to the dashboard</a></header><div id="app"></div><noscript><a href="/docs/api">The API reference as a plain page</a></noscript>
<script src="/docs/scalar.js"></script><script src="/docs/boot.js"></script></body>
</html>`;

const LLMS = `# Posthorn

Self-hosted service that sends text messages and reports their delivery.

- [API reference](/docs/api)
- [OpenAPI document](/openapi.json)
- [Errors](/docs/errors)
`;

function apiPage(): string {
  const sections = Object.entries(operations).map(([name, operation]) =>
    operationSection(name, operation),
  );
  const webhooks = Object.entries(webhookBodies).map(
    ([event, body]) => `<h3 id="${event}"><code>${event}</code></h3>${schemaBlock(body)}`,
  );
  return page(
    "API reference",
    `<p>Every request carries the header <code>X-API-Key</code>. Errors are explained at <a href="/docs/errors">/docs/errors</a>.</p><p>${VERSIONING}</p>${sections.join("")}
<section><h2 id="webhooks">Webhooks</h2><p>Posted to a message's <code>callbackUrl</code> on every change of status, signed.</p>${webhooks.join("")}</section>`,
  );
}

function operationSection(name: string, operation: Operation): string {
  const { method, path, summary, description = "", scope, body, query, success } = operation;
  const own = operation.errors.map(codeLink).join(", ");
  return `<section><h2 id="${name}">${escape(summary)}</h2>
<p><code>${method} ${escape(path)}</code>, scope <code>${scope}</code></p><p>${escape(description)}</p>
${body ? `<h3>Body</h3>${schemaBlock(body)}` : ""}${query ? `<h3>Query</h3>${schemaBlock(query)}` : ""}
<h3>Answer ${success.status}</h3>${schemaBlock(success.body)}<p>Errors of its own: ${own || "none"}</p></section>`;
}

function schemaBlock(schema: object): string {
  const text = JSON.stringify(
    schema,
    (key, value: unknown) => (key === "x-code" ? undefined : value),
    2,
  );
  return `<pre tabindex="0">${escape(text)}</pre>`;
}

function errorsPage(): string {
  const rows = Object.entries(errors).map(
    ([code, { status, message }]) =>
      `<tr><td>${status}</td><td>${codeLink(code)}</td><td>${escape(message)}</td></tr>`,
  );
  const details = Object.entries(detailCodes).map(
    ([code, text]) => `<dt>${codeLink(code)}</dt><dd>${markdown(text)}</dd>`,
  );
  const delivery = Object.entries(deliveryErrors).map(
    ([code, { message, fix }]) =>
      `<dt id="${code}">${codeLink(code)}</dt><dd>${escape(message)} ${markdown(fix)}</dd>`,
  );
  return page(
    "Errors",
    `<table><thead><tr><th>Status</th><th>Code</th><th>Message</th></tr></thead><tbody>${rows.join("")}</tbody></table>
<h2>Codes in details</h2><dl>${details.join("")}</dl><h2>Delivery errors</h2><dl>${delivery.join("")}</dl>`,
  );
}

function codeLink(code: string): string {
  return `<a href="/docs/errors/${code}">${code}</a>`;
}

function errorPage(code: ErrorCode): string {
  const { status, message, meaning, fix } = errors[code];
  const where = `HTTP status ${status}</p><p><strong>${escape(message)}</strong>`;
  return codePage(code, { where, meaning, fix });
}

function detailPage(code: DetailCode): string {
  const fix = "Change what `field` names; `message` says what is wrong with it.";
  const where = "In the <code>details</code> of an error";
  return codePage(code, { where, meaning: detailCodes[code], fix });
}

function deliveryPage(code: DeliveryErrorCode): string {
  const { message: meaning, fix } = deliveryErrors[code];
  const where = "In the <code>error</code> of a message that ended undelivered or failed";
  return codePage(code, { where, meaning, fix });
}

/** `where` is HTML; the rest is plain text. */
function codePage(
  code: string,
  { where, meaning, fix }: { where: string; meaning: string; fix: string },
): string {
  return page(
    code,
    `<p>${where}</p><h2>What it means</h2><p>${markdown(meaning)}</p>
<h2>What to do</h2><p>${markdown(fix)}</p><p><a href="/docs/errors">All errors</a></p>`,
  );
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${escape(title)} · Posthorn</title><style>${STYLE}</style></head>
<body><main><h1>${escape(title)}</h1>${content}</main></body>
</html>`;
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}pre{overflow:auto;border:1px solid;border-radius:6px;padding:1rem;max-height:24rem}
table{border-collapse:collapse;display:block;overflow:auto}td,th{border:1px solid;padding:.3rem .6rem;text-align:left}dt{font-weight:600;margin-top:.6rem}`;

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function markdown(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}
