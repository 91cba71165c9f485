import type { Detail } from "#contract";
import { Problem } from "#http";

/** Throws one problem that names every field with something wrong, in words; nothing where all is fine. */
export function refuseFields(wrong: Record<string, string[]>): void {
  const details = Object.entries(wrong).flatMap(([field, messages]) =>
    messages.map((message): Detail => ({ field, code: "FIELD_INVALID", message })),
  );
  if (details.length > 0) throw new Problem("VALIDATION_FAILED", details);
}

export function required(field: string): Problem {
  return new Problem("VALIDATION_FAILED", [
    { field, code: "FIELD_REQUIRED", message: `${field} is required.` },
  ]);
}

/** Too many tries: says when the next may be made. */
export function waitFor(seconds: number): Problem {
  return new Problem("RATE_LIMITED", [], { "retry-after": String(seconds) });
}
