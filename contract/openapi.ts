import { apiErrors, detailCodes, type ErrorCode, errors } from "./errors.ts";
import { operations } from "./messages.ts";
import { everywhere, type Operation } from "./operation.ts";
import { occasionalWebhookHeaders, webhookBodies, webhookHeaderMeanings } from "./webhook.ts";

type Json = Record<string, unknown>;

const errorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message", "details", "docUrl", "requestId"],
      properties: {
        code: { type: "string", enum: Object.keys(apiErrors) },
        message: { type: "string" },
        details: {
          type: "array",
          items: {
            type: "object",
            required: ["field", "code", "message"],
            properties: {
              field: { type: ["string", "null"] },
              code: { type: "string", enum: Object.keys(detailCodes) },
              message: { type: "string" },
              required: { type: "integer" },
              available: { type: "integer" },
            },
          },
        },
        docUrl: { type: "string" },
        requestId: { type: "string" },
      },
    },
  },
};

/** What clients can rely on. */
export const VERSIONING =
  "/v1 only ever gains optional fields, operations, error codes and events; clients must ignore those that they do not know. Removing or changing anything takes /v2. A deprecated operation carries the headers Deprecation and Sunset for at least 12 months.";

const REQUEST_ID = {
  "X-Request-Id": {
    description: "Identifies this request in the service's logs.",
    schema: { type: "string" },
  },
};

const RATE_HEADERS = {
  "RateLimit-Limit": { description: "The rate per second.", schema: { type: "integer" } },
  "RateLimit-Remaining": {
    description: "What may be sent at once right now.",
    schema: { type: "integer" },
  },
  "RateLimit-Reset": {
    description: "Whole seconds until the allowance is full.",
    schema: { type: "integer" },
  },
};

const RETRY_AFTER = {
  "Retry-After": { description: "Whole seconds to wait.", schema: { type: "integer" } },
};

/** Headers of every answer with a status, beside those of all answers. */
const STATUS_HEADERS: Record<number, Json> = {
  401: {
    "WWW-Authenticate": {
      description: "The scheme of authentication, `ApiKey`.",
      schema: { type: "string" },
    },
  },
  405: {
    Allow: { description: "The methods that the path supports.", schema: { type: "string" } },
  },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

const HEADER_TEXTS: Record<string, string> = {
  Location: "Path of the message.",
  "Idempotency-Replayed": "`true` on the stored answer to an earlier request with the same key.",
};

const RATES: Record<Operation["rate"], string> = {
  sends: "Each message counts as a send of the account.",
  reads: "Counts as a read of the key.",
};

/** The OpenAPI 3.1 document of `/v1`, made from the declared operations. */
export function openApi(version: string): Json {
  const paths: Record<string, Json> = {};
  for (const [operationId, operation] of Object.entries(operations)) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(operationId, operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version,
      description: `Sends text messages to mobile recipients and reports their delivery.\n\n${VERSIONING}`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ apiKey: [] }],
    tags: [{ name: "Messages" }, { name: "Credits" }, { name: "Webhooks" }],
    paths,
    webhooks: Object.fromEntries(
      Object.entries(webhookBodies).map(([event, body]) => [
        event,
        { post: describeWebhook(event, body) },
      ]),
    ),
    components: {
      securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "X-API-Key" } },
      schemas: { Error: errorSchema },
    },
  };
}

function describe(operationId: string, operation: Operation): Json {
  const { summary, description = summary, scope, success } = operation;
  const headers = Object.fromEntries(
    (success.headers ?? []).map((name) => [
      name,
      { description: HEADER_TEXTS[name], schema: { type: "string" } },
    ]),
  );
  return {
    operationId,
    summary,
    description: `${description}\n\nNeeds the scope \`${scope}\`. ${RATES[operation.rate]}`,
    tags: [operation.path.startsWith("/v1/credits") ? "Credits" : "Messages"],
    "x-scope": scope,
    ...parametersOf(operation),
    ...(operation.body
      ? {
          requestBody: { required: true, content: { "application/json": content(operation.body) } },
        }
      : {}),
    responses: {
      [success.status]: {
        description: summary,
        headers: { ...headers, ...RATE_HEADERS, ...REQUEST_ID },
        content: { "application/json": content(success.body) },
      },
      ...errorResponses([...operation.errors, ...everywhere]),
    },
  };
}

function describeWebhook(event: string, body: object): Json {
  return {
    operationId: event,
    summary: event,
    description:
      "Posted to the message's `callbackUrl`. Verify the signature over the raw body before you read anything from it.",
    tags: ["Webhooks"],
    security: [],
    parameters: Object.entries(webhookHeaderMeanings).map(([name, description]) => ({
      name,
      in: "header",
      required: !occasionalWebhookHeaders.includes(name),
      description,
      schema: { type: "string" },
    })),
    requestBody: { required: true, content: { "application/json": content(body) } },
    responses: {
      "2XX": { description: "Delivered." },
      "410": { description: "No longer wanted: no more attempts are made." },
      default: { description: "It is retried, with seven attempts in total." },
    },
  };
}

function content(schema: object): Json {
  const { examples, ...rest } = plain(schema) as Json & { examples?: unknown[] };
  return { schema: rest, ...(examples ? { example: examples[0] } : {}) };
}

/** Removes the library's own marks, and those of ours that are not JSON Schema. */
function plain(schema: object): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (key === "x-code" ? undefined : value)),
  ) as Json;
}

function parametersOf(operation: Operation): Json {
  const parameters = [
    ...Object.entries(operation.params?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: "path",
      required: true,
      schema: plain(schema),
    })),
    ...Object.entries(operation.query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: "query",
      required: false,
      schema: plain(schema),
    })),
    ...Object.entries(operation.headers ?? {}).map(([name, description]) => ({
      name: name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
      in: "header",
      required: false,
      description,
      schema: { type: "string", minLength: 1, maxLength: 255 },
    })),
  ];
  return parameters.length > 0 ? { parameters } : {};
}

function errorResponses(codes: readonly ErrorCode[]): Json {
  const byStatus = Map.groupBy(new Set(codes), (code) => errors[code].status);
  const entries = [...byStatus].toSorted(([a], [b]) => a - b);
  return Object.fromEntries(
    entries.map(([status, group]) => [
      status,
      {
        headers: headersOf(status),
        description: group.map((code) => `\`${code}\`: ${errors[code].message}`).join("\n\n"),
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/Error" },
            example: exampleOf(group[0] as ErrorCode),
          },
        },
      },
    ]),
  );
}

/** Answered before the caller is known, and so without an allowance. */
const BEFORE_KEYS = new Set([401, 405, 408, 431]);

/** Answers to our own faults may lack the allowance. */
function headersOf(status: number): Json {
  const isKnown = !BEFORE_KEYS.has(status) && status < 500;
  return { ...(isKnown && RATE_HEADERS), ...STATUS_HEADERS[status], ...REQUEST_ID };
}

function exampleOf(code: ErrorCode): Json {
  return {
    error: {
      code,
      message: errors[code].message,
      details: [],
      docUrl: `/docs/errors/${code}`,
      requestId: "019a85c2-5b00-7abc-8def-0123456789ab",
    },
  };
}
