import type { TObject } from "typebox";

type Property = { type?: string };

/**
 * Query strings carry only text: where the schema wants a whole number or a list, and the text is
 * one, it becomes that. Anything else is left as it is, for the shape check to refuse by name.
 */
export function readQuery(raw: Record<string, unknown>, schema: TObject): Record<string, unknown> {
  const properties = schema.properties as unknown as Record<string, Property>;
  const entries = Object.entries(raw).map(([name, value]) => [
    name,
    readValue(value, Object.hasOwn(properties, name) ? properties[name]?.type : undefined),
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function readValue(value: unknown, type: string | undefined): unknown {
  if (type === "array" && typeof value === "string") return [value];
  if (type === "integer" && typeof value === "string" && /^\d{1,9}$/.test(value))
    return Number(value);
  return value;
}
