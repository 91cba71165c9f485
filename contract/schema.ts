import { type Static, type TSchema, Type } from "typebox";

/** May be null. A list of types instead of a union, because it serializes several times faster. */
export function nullable<T extends TSchema>(schema: T) {
  const json = schema as unknown as Record<string, unknown>;
  const allowed = Array.isArray(json["enum"]) ? { enum: [...json["enum"], null] } : {};
  return Type.Unsafe<Static<T> | null>({ ...json, ...allowed, type: [json["type"], "null"] });
}

/** One of these words. */
export function oneOf<const Word extends string>(words: readonly Word[], options: object = {}) {
  return Type.Unsafe<Word>({ type: "string", enum: [...words], ...options });
}

/** An object that refuses unknown fields. */
export function closed<P extends Record<string, TSchema>>(properties: P, options: object = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** A time in our answers: ISO 8601 in UTC, with milliseconds. */
export const Time = Type.String({ format: "date-time", examples: ["2026-11-15T09:30:00.123Z"] });

/** A time from a client: any ISO 8601 form with a zone, as read by `readTime`. */
export const AnyTime = Type.String({
  description: "ISO 8601 with a zone, such as 2026-11-15T09:30:00.123Z.",
  format: "date-time",
});

/** Text to search for. Nothing stored contains a NUL, and PostgreSQL cannot compare with one. */
export function sought(maxLength: number, description = "Text without a NUL character.") {
  return Type.String({ maxLength, pattern: String.raw`^[^\u0000]*$`, description });
}

export const Month = Type.String({
  pattern: "^[0-9]{4}-(0[1-9]|1[0-2])$",
  description: "A month of UTC, such as 2026-11.",
});

export const Id = Type.String({ format: "uuid" });
