import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

type Json = fc.JsonValue;
type Node = {
  type?: string | string[];
  enum?: Json[];
  anyOf?: Node[];
  properties?: Record<string, Node>;
  required?: string[];
  additionalProperties?: boolean | Node;
  items?: Node;
  minItems?: number;
  maxItems?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxProperties?: number;
};

/** Values that a schema allows; `known` gives better ones by name, such as real numbers. */
export function arbitraryOf(
  schema: object,
  known: Record<string, fc.Arbitrary<Json>> = {},
): fc.Arbitrary<Json> {
  const node = schema as Node;
  if (node.enum) return fc.constantFrom(...node.enum);
  if (node.anyOf) return fc.oneof(...node.anyOf.map((each) => arbitraryOf(each, known)));
  const types = [node.type ?? "null"].flat();
  return fc.oneof(...types.map((type) => arbitraryOfType(type, node, known)));
}

function arbitraryOfType(
  type: string,
  node: Node,
  known: Record<string, fc.Arbitrary<Json>>,
): fc.Arbitrary<Json> {
  switch (type) {
    case "string":
      return fc.string({ unit: "grapheme", maxLength: Math.min(node.maxLength ?? 40, 40) });
    case "integer":
      return fc.integer({ min: node.minimum ?? -9, max: Math.min(node.maximum ?? 99, 99_999) });
    case "boolean":
      return fc.boolean();
    case "array": {
      const [minLength, maxLength] = [node.minItems ?? 0, Math.min(node.maxItems ?? 5, 5)];
      return fc.array(arbitraryOf(node.items ?? {}, known), { minLength, maxLength });
    }
    case "object":
      return node.properties ? recordOf(node, known) : mapOf(node, known);
    default:
      return fc.constant(null);
  }
}

function recordOf(node: Node, known: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<Json> {
  const fields = Object.entries(node.properties ?? {}).map(
    ([name, each]) => [name, known[name] ?? arbitraryOf(each, known)] as const,
  );
  const requiredKeys = node.required ?? [];
  return fc.record(Object.fromEntries(fields), { requiredKeys });
}

function mapOf(node: Node, known: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<Json> {
  const value = arbitraryOf(node.additionalProperties as Node, known);
  return fc.dictionary(fc.string({ maxLength: 10 }), value, {
    maxKeys: Math.min(node.maxProperties ?? 5, 5),
  });
}

/** Values that no client means to send, to be tried in every place. */
export const hostile: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 3, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) },
  {
    weight: 5,
    arbitrary: fc.constantFrom<Json>(
      "\0",
      "a\0b",
      "\ud800",
      "\udfff\ud800",
      "\u202e\u2066abc\u2069",
      "\u0301".repeat(300),
      "👩‍👩‍👧‍👦".repeat(50),
      "' or 1=1; drop table messages; --",
      "%00%ff",
      "${process.exit()}",
      "../../../etc/passwd",
      "x".repeat(20_000),
      "9".repeat(400),
      "-0",
      "1e999",
      "NaN",
      "__proto__",
      "constructor",
      "2026-11-15T09:30:00.000Z",
      "+275760-09-13T00:00:00.001Z",
      "http://169.254.169.254/",
      1e308,
      -1,
      0.1,
      2 ** 53,
      Number.MAX_SAFE_INTEGER,
      true,
      null,
      [],
      {},
      [[[[[[]]]]]],
      { toString: 1, valueOf: null, length: -1, toJSON: "x" },
      JSON.parse('{"__proto__":{"polluted":true}}') as Json,
    ),
  },
);

/** The value with a few places changed: replaced, removed, duplicated, or a field added. */
export function mutated(valid: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const change = fc.record({ at: fc.nat(30), how: fc.nat(4), with: hostile, name: fc.string() });
  return fc
    .tuple(valid, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) =>
      changes.reduce<Json>((result, each) => mutate(result, each), structuredClone(value)),
    );
}

type Change = { at: number; how: number; with: Json; name: string };

function mutate(value: Json, change: Change): Json {
  if (typeof value !== "object" || value === null) return change.with;
  const keys = Object.keys(value);
  if (keys.length === 0 || change.at === 0) return change.how % 2 ? [value] : change.with;
  const key = keys[change.at % keys.length] ?? "";
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, Json>;
  if (change.how === 0) copy[key] = change.with;
  else if (change.how === 1) delete copy[key];
  else if (change.how === 2) copy[change.name] = change.with;
  else if (change.how === 3) copy[`${key}s`] = copy[key] ?? null;
  else copy[key] = mutate(copy[key] ?? null, { ...change, at: change.at >> 2 });
  return copy;
}
