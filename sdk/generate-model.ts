/**
 * Generates model.ts: the contract's schemas as plain TypeScript types, so that the SDK has the
 * API's own types without needing other packages. A test fails when the two differ.
 * Run after a change of the contract: npm run generate
 */
import { format } from "oxfmt";
import { apiErrors, detailCodes, eventNames, operations, statuses, webhookBodies } from "#contract";

type Schema = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  description?: string;
  title?: string;
};

const { sendMessage, sendBatch, previewMessage, listMessages } = operations;
const { listMessageEvents, retrieveCredits } = operations;

/** Schemas with a name of their own; inside other schemas, the name stands for them. */
const named: Record<string, unknown> = {
  NewMessage: sendMessage.body,
  Message: sendMessage.success.body,
  DeliveryError: sendMessage.success.body.properties.error,
  MessageBatch: sendBatch.success.body,
  Preview: previewMessage.success.body,
  ListQuery: listMessages.query,
  MessagePage: listMessages.success.body,
  HistoryEntry: listMessageEvents.success.body.properties.data.items,
  Credits: retrieveCredits.success.body,
  SentEvent: webhookBodies["message.sent"],
  DeliveredEvent: webhookBodies["message.delivered"],
  UndeliveredEvent: webhookBodies["message.undelivered"],
  FailedEvent: webhookBodies["message.failed"],
};

const unions: Record<string, readonly string[]> = {
  Status: statuses,
  EventName: Object.values(eventNames),
  ErrorCode: Object.keys(apiErrors),
  DetailCode: Object.keys(detailCodes),
};

export async function generateModel(): Promise<string> {
  const source = [
    "// Made from contract/ by generate-model.ts; a change here is lost.\n",
    ...Object.entries(unions).map(([name, each]) => `export type ${name} = ${literals(each)};\n`),
    ...Object.entries(named).map(([name, schema]) => declare(name, schema as Schema)),
  ].join("\n");
  return (await format("model.ts", source, { printWidth: 100 })).code;
}

function declare(name: string, schema: Schema): string {
  // The named type leaves out null; wherever it may be null, the use says so.
  return `${comment(schema, "")}export type ${name} = ${print(withoutNull(schema), "", name)};\n`;
}

function print(schema: Schema, indent: string, self?: string): string {
  const { title } = schema;
  if (title !== undefined && title !== self && title in named) {
    return mayBeNull(schema) ? `${title} | null` : title;
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return oneOf(schema.enum);
  if (schema.anyOf) return schema.anyOf.map((each) => print(each, indent)).join(" | ");
  const types = [schema.type ?? "unknown"].flat();
  return types.map((type) => printType(type, schema, indent)).join(" | ");
}

function printType(type: string, schema: Schema, indent: string): string {
  switch (type) {
    case "integer":
      return "number";
    case "array":
      return `(${print(schema.items ?? {}, indent)})[]`;
    case "object":
      return schema.properties ? printObject(schema, indent) : "Record<string, string>";
    default:
      return type;
  }
}

function printObject({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${comment(schema, inner)}${inner}${name}${mark}: ${print(schema, inner)};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function comment({ description }: Schema, indent: string): string {
  return description === undefined ? "" : `${indent}/** ${description} */\n`;
}

function oneOf(values: unknown[]): string {
  const known = Object.entries(unions).find(([, each]) => literals(each) === literals(values));
  return known ? known[0] : literals(values);
}

function literals(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}

function mayBeNull({ type }: Schema): boolean {
  return Array.isArray(type) && type.includes("null");
}

function withoutNull(schema: Schema): Schema {
  if (!Array.isArray(schema.type)) return schema;
  return { ...schema, type: schema.type.filter((type) => type !== "null") };
}
