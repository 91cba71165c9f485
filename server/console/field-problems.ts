import type { Detail } from "#contract";
import { Problem } from "#http";

/**
 * Throws one problem that describes every wrong field; does nothing if all are fine. `beside` are
 * further details that have a code of their own.
 */
export function refuseFields(
  wrong: Record<string, string[]>,
  beside: readonly Detail[] = [],
): void {
  const details = [...fieldDetails(wrong), ...beside];
  if (details.length > 0) throw new Problem("VALIDATION_FAILED", details);
}

export function fieldDetails(wrong: Record<string, string[]>): Detail[] {
  return Object.entries(wrong).flatMap(([field, messages]) =>
    messages.map((message): Detail => ({ field, code: "FIELD_INVALID", message })),
  );
}

/** The problem for one field that is known to be wrong. */
export function fieldProblem(field: string, message: string): Problem {
  return new Problem("VALIDATION_FAILED", fieldDetails({ [field]: [message] }));
}

export function required(field: string): Detail {
  return { field, code: "FIELD_REQUIRED", message: `${field} is required.` };
}

/** Too many tries: says when the next one is allowed. */
export function waitFor(seconds: number): Problem {
  return new Problem("RATE_LIMITED", [], { "retry-after": String(seconds) });
}
