import type { TObject } from "typebox";

type Property = { type?: string; format?: string };

/**
 * Query strings carry only text: where the schema wants a whole number or a list, and the text is
 * one, it becomes that. Anything else is left as it is, for the shape check to refuse by name.
 */
export function readQuery(raw: Record<string, unknown>, schema: TObject): Record<string, unknown> {
  const properties = schema.properties as unknown as Record<string, Property>;
  const entries = Object.entries(raw).map(([name, value]) => [
    name,
    readValue(value, Object.hasOwn(properties, name) ? properties[name] : undefined),
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function readValue(value: unknown, { type, format }: Property = {}): unknown {
  if (typeof value !== "string") return value;
  if (type === "array") return [value];
  if (type === "integer" && /^\d{1,9}$/.test(value)) return Number(value);
  if (format === "uuid") return value.toLowerCase();
  // In a query a plus stands for a space: whoever wrote a zone of +02:00 meant the plus.
  if (format === "date-time") return value.replace(/ (?=\d{2}:?\d{2}$)/, "+");
  return value;
}

/** Each costs an exception: of the thousands that fit into a line, more than these would cost everybody time. */
const MAX_UNDECODABLE = 100;

/** The first parameters whose escapes stand for no text. The parser takes these as they are written. */
export function undecodable(url: string): string[] {
  const start = url.indexOf("?");
  if (start < 0 || isDecodable(url.slice(start))) return [];
  const names = url
    .slice(start + 1)
    .split("&")
    .values()
    .filter((pair) => !isDecodable(pair))
    .map((pair) => pair.split("=", 1)[0] ?? "")
    .take(MAX_UNDECODABLE);
  return [...new Set(names)];
}

function isDecodable(text: string): boolean {
  if (!text.includes("%")) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
