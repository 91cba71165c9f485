import type { TObject } from "typebox";

type Property = { type?: string; format?: string };

/**
 * Query strings carry only text. If the schema wants an integer or a list, a text that is one is
 * converted. Anything else stays as it is, and the shape check refuses it by name.
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
  // In a query "+" decodes to a space: a client that wrote the offset +02:00 meant the plus.
  if (format === "date-time") return value.replace(/ (?=\d{2}:?\d{2}$)/, "+");
  return value;
}

/** Each one costs an exception. A URL has room for thousands, which would slow everybody down. */
const MAX_UNDECODABLE = 100;

/** The first parameters whose escapes cannot be decoded. The parser leaves these undecoded. */
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
