import Schema from "typebox/schema";
import { Settings } from "typebox/system";
import type { TSchema } from "typebox";
import type { Detail, DetailCode } from "#contract";
import { nearest } from "./nearest.ts";

/** What a hostile body of 1 MiB can make us say at most. */
const MAX_DETAILS = 1_000;
Settings.Set({ maxErrors: MAX_DETAILS });

export type Part = "body" | "query";
export type ShapeCheck = (value: unknown) => Detail[];

/** Judges the shape of a body or query: names every wrong, missing and unknown field at once. */
export function shapeCheck(schema: TSchema, part: Part): ShapeCheck {
  const compiled = Schema.Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return [];
    const [, errors] = compiled.Errors(value);
    return explain(errors, schema, part).slice(0, MAX_DETAILS);
  };
}

type ShapeError = {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
};
type Node = Record<string, unknown> & { properties?: Record<string, Node>; items?: Node };

function explain(errors: ShapeError[], schema: TSchema, part: Part): Detail[] {
  const details = errors.flatMap((error) => {
    const node = nodeAt(schema as unknown as Node, error.instancePath);
    const field = fieldName(error.instancePath);
    switch (error.keyword) {
      case "required":
        return strings(error.params["requiredProperties"]).map((name) =>
          required(join(field, name)),
        );
      case "additionalProperties":
        // Of a map such as metadata, an entry's value is wrong, not its name.
        if (node?.["x-code"]) return [];
        return strings(error.params["additionalProperties"]).map((name) =>
          unknown(join(field, name), name, Object.keys(node?.properties ?? {}), part),
        );
      case "boolean":
        return [];
      default:
        return [wrong(field, node, error, part)];
    }
  });
  return distinct(details);
}

function required(field: string): Detail {
  return { field, code: "FIELD_REQUIRED", message: `${field} is required.` };
}

function unknown(field: string, name: string, known: string[], part: Part): Detail {
  const near = nearest(name, known);
  const hint = near ? ` Did you mean ${near}?` : ` Known are: ${known.join(", ")}.`;
  const [code, noun]: [DetailCode, string] =
    part === "body" ? ["FIELD_UNKNOWN", "field"] : ["PARAMETER_UNKNOWN", "parameter"];
  return { field, code, message: `There is no ${noun} ${printable(name)}.${hint}` };
}

function wrong(field: string, node: Node | undefined, error: ShapeError, part: Part): Detail {
  const fallback = part === "body" ? "FIELD_INVALID" : "PARAMETER_INVALID";
  const code = (node?.["x-code"] ?? fallback) as DetailCode;
  return {
    field: field === "" ? null : field,
    code,
    message: `${field === "" ? "The body" : field} ${rule(error)}.`,
  };
}

function rule({ keyword, params, message }: ShapeError): string {
  switch (keyword) {
    case "type":
      return `must be ${words(strings(params["type"]))}`;
    case "enum":
      return `must be one of ${strings(params["allowedValues"]).join(", ")}`;
    case "minItems":
      return `must hold at least ${String(params["limit"])}`;
    case "maxItems":
      return `must hold at most ${String(params["limit"])}`;
    case "maxProperties":
      return `must hold at most ${String(params["limit"])} entries`;
    case "minimum":
      return `must be ${String(params["limit"])} or more`;
    case "maximum":
      return `must be ${String(params["limit"])} or less`;
    case "maxLength":
      return `must have at most ${String(params["limit"])} characters`;
    default:
      return message;
  }
}

const ARTICLES: Record<string, string> = {
  string: "a string",
  integer: "a whole number",
  number: "a number",
  object: "an object",
  array: "a list",
  boolean: "true or false",
};

function words(types: string[]): string {
  return types
    .filter((type) => type !== "null")
    .map((type) => ARTICLES[type] ?? type)
    .join(" or ");
}

function strings(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((entry) => entry !== null && entry !== undefined).map(String);
}

/** The schema of the value at a JSON pointer. */
function nodeAt(schema: Node, pointer: string): Node | undefined {
  let node: Node | undefined = schema;
  for (const step of steps(pointer)) {
    if (node?.["x-code"]) return node;
    node = node?.properties?.[step] ?? node?.items;
  }
  return node;
}

/** `/messages/3/recipient` as people write it: `messages[3].recipient`. */
function fieldName(pointer: string): string {
  return steps(pointer).reduce(
    (path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : join(path, step)),
    "",
  );
}

function join(path: string, name: string): string {
  return path === "" ? printable(name) : `${path}.${printable(name)}`;
}

/** A stranger's field name, safe to repeat: bounded and without control characters. */
function printable(name: string): string {
  return name.slice(0, 64).replaceAll(/[\p{Cc}\p{Cs}]/gu, "?");
}

function steps(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** One detail per field and code. */
function distinct(details: Detail[]): Detail[] {
  return [...new Map(details.map((detail) => [`${detail.field} ${detail.code}`, detail])).values()];
}
