import { Format } from "typebox/format";
import Schema from "typebox/schema";
import type { TSchema } from "typebox";
import type { Detail, DetailCode } from "#contract";
import { readTime } from "#platform";
import { nearestField } from "./nearest-field.ts";
import { whatIsWrong } from "./wrong-value.ts";

/** The most that a hostile body of 1 MiB makes us report: all fields of a batch of a thousand. */
const MAX_DETAILS = 10_000;
/** Unknown fields that get a hint. Finding hints for ten thousand took most of a second. */
const MAX_HINTS = 100;

// A date-time is whatever `readTime` reads, so the same forms are valid everywhere.
Format.Set("date-time", (text) => readTime(text) !== undefined);

export type Part = "body" | "query";
export type ShapeCheck = (value: unknown) => Detail[];

/**
 * Judges the shape of a body or query: names every wrong, missing and unknown field at once. A
 * valid value costs one compiled check. Only an invalid one is walked through, and only until as
 * much is found as is ever reported.
 */
export function shapeCheck(schema: TSchema, part: Part): ShapeCheck {
  const compiled = Schema.Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return [];
    const details: Detail[] = [];
    walk({ node: schema as unknown as Node, part, code: FALLBACK[part], details }, value, "");
    return details.length > 0 ? details : [{ field: null, code: FALLBACK[part], message: VAGUE }];
  };
}

const FALLBACK = { body: "FIELD_INVALID", query: "PARAMETER_INVALID" } as const;
const VAGUE = "The request has a wrong form.";

/** The parts of a JSON schema that describe the inside of an object or list. */
type Node = Record<string, unknown> & {
  properties?: Record<string, Node>;
  required?: string[];
  items?: Node;
  additionalProperties?: boolean | Node;
};

/** `code` is that of the nearest enclosing field that has its own. */
type Walk = { node: Node; part: Part; code: DetailCode; details: Detail[] };

function walk(here: Walk, value: unknown, field: string): void {
  if (here.details.length >= MAX_DETAILS) return;
  const code = (here.node["x-code"] ?? here.code) as DetailCode;
  const inner = { ...here, code };
  if (here.node.properties && isObject(value)) return walkObject(inner, value, field);
  if (here.node.items && Array.isArray(value)) return walkList(inner, value, field);
  if (isMap(here.node) && isObject(value)) return walkMap(inner, value, field);
  if (here.part === "query" && Array.isArray(value))
    return say(here, { field, code, message: `${field} must be given only once.` });
  walkValue(inner, value, field);
}

function walkObject(here: Walk, value: Record<string, unknown>, field: string): void {
  const { properties = {}, required = [] } = here.node;
  for (const name of required) {
    if (!Object.hasOwn(value, name)) {
      const missing = join(field, name);
      say(here, { field: missing, code: "FIELD_REQUIRED", message: `${missing} is required.` });
    }
  }
  for (const name of Object.keys(value)) {
    if (here.details.length >= MAX_DETAILS) return;
    if (Object.hasOwn(properties, name))
      walk({ ...here, node: properties[name] as Node }, value[name], join(field, name));
    else if (here.node.additionalProperties === false)
      say(here, unknown(here, join(field, name), name));
  }
}

function walkList(here: Walk, value: unknown[], field: string): void {
  const { items, ...list } = here.node;
  const isOfRightLength = walkValue({ ...here, node: list }, value, field);
  if (!isOfRightLength) return;
  value.forEach((item, n) => {
    if (here.part === "query") walkRepeated({ ...here, node: items as Node }, item, field);
    else walk({ ...here, node: items as Node }, item, `${field}[${n}]`);
  });
}

/** A repeated query parameter is reported by its name alone, and takes no comma-separated list. */
function walkRepeated(here: Walk, value: unknown, field: string): void {
  const values = typeof value === "string" ? value.split(",") : [];
  if (values.length < 2 || whatIsWrong(here.node, value) === undefined)
    return walk(here, value, field);
  const repeated = values.map((each) => `${field}=${each.trim()}`);
  const message = `${field} takes one value; give it once for each: ${printable(repeated.join("&"))}.`;
  say(here, { field, code: here.code, message });
}

function walkMap(here: Walk, value: Record<string, unknown>, field: string): void {
  const { additionalProperties, ...map } = here.node;
  if (!walkValue({ ...here, node: map }, value, field)) return;
  for (const [name, entry] of Object.entries(value))
    walk({ ...here, node: additionalProperties as Node }, entry, join(field, name));
}

/** Judges one value by itself. Returns whether it is valid. */
function walkValue(here: Walk, value: unknown, field: string): boolean {
  const wrong = whatIsWrong(here.node, value);
  if (wrong === undefined) return true;
  const message = `${field === "" ? `The ${here.part}` : field} ${wrong}.`;
  say(here, { field: field === "" ? null : field, code: here.code, message });
  return false;
}

function unknown({ node, part, details }: Walk, field: string, name: string): Detail {
  const hint = details.length < MAX_HINTS ? hintAt(name, Object.keys(node.properties ?? {})) : "";
  const [code, noun]: [DetailCode, string] =
    part === "body" ? ["FIELD_UNKNOWN", "field"] : ["PARAMETER_UNKNOWN", "parameter"];
  return { field, code, message: `There is no ${noun} ${printable(name)}.${hint}` };
}

function hintAt(name: string, known: string[]): string {
  const near = nearestField(name, known);
  return near ? ` Did you mean ${near}?` : ` Known are: ${known.join(", ")}.`;
}

function say({ details }: Walk, detail: Detail): void {
  if (details.length < MAX_DETAILS) details.push(detail);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object with arbitrary names and values of one type, such as metadata. */
function isMap(node: Node): boolean {
  return node.properties === undefined && isObject(node.additionalProperties);
}

/** `messages[3].recipient`, as people write it. */
function join(path: string, name: string): string {
  return path === "" ? printable(name) : `${path}.${printable(name)}`;
}

/** A field name from outside, made safe to repeat: bounded, and without control characters. */
function printable(name: string): string {
  return name.slice(0, 64).replaceAll(/[\p{Cc}\p{Cs}]/gu, "?");
}
