import type { Detail, ErrorCode } from "#contract";
import { errors, type Scope } from "#contract/words";
import type { Allowance } from "./operation-route.ts";

/** An answer of the API other than a success. Handlers throw it; the error handler writes it. */
export class Problem extends Error {
  override name = "Problem";
  readonly code: ErrorCode;
  readonly details: Detail[];
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, details: Detail[] = [], headers: Record<string, string> = {}) {
    super(errors[code].message);
    this.code = code;
    this.details = details;
    this.headers = headers;
  }

  get status(): number {
    return errors[this.code].status;
  }
}

export function sendsLimited(left: Allowance, needed: number): Problem {
  const { rate, burst, tokens } = left;
  const now = Math.max(0, Math.floor(tokens));
  const limit = `Sends of the account are limited to ${rate} a second and ${burst} at once: ${now} can go now, but the request has ${needed}.`;
  return rateLimited(limit, secondsUntil(needed, left));
}

export function readsLimited(left: Allowance): Problem {
  const limit = `Reads of the key are limited to ${left.rate} a second and ${left.burst} at once.`;
  return rateLimited(limit, secondsUntil(1, left));
}

export function failuresLimited(perMinute: number, seconds: number): Problem {
  const limit = `Failed authentications of the address are limited to ${perMinute} a minute.`;
  return rateLimited(limit, seconds);
}

/** The client was too fast: says which limit it hit, and when to try again. */
function rateLimited(limit: string, seconds: number): Problem {
  const code = "RATE_LIMITED";
  const details = [{ field: null, code, message: limit } as const];
  return new Problem(code, details, { "retry-after": String(seconds) });
}

function secondsUntil(needed: number, { rate, burst, tokens }: Allowance): number {
  const missing = Math.min(needed, burst) - tokens;
  return Math.max(1, Math.ceil(missing / rate));
}

export function scopeDenied(scope: Scope): Problem {
  const code = "API_KEY_SCOPE_DENIED";
  const message = `This operation requires the scope ${scope}, which the key does not have.`;
  return new Problem(code, [{ field: null, code, message }]);
}

/** Says why the body could not be parsed, and where. */
export function jsonInvalid(reason: string): Problem {
  const code = "JSON_INVALID";
  return new Problem(code, [{ field: null, code, message: reason }]);
}

/** Nothing was done. The client may repeat the request at once, here or at another node. */
export function unavailable(reason: string): Problem {
  const code = "UNAVAILABLE";
  return new Problem(code, [{ field: null, code, message: reason }], { "retry-after": "1" });
}

/** As many requests as can be held are waiting already. */
export function queueFull(): Problem {
  return new Problem("QUEUE_FULL", [], { "retry-after": "1" });
}

/** The one shape of every error, whatever went wrong. */
export function problemBody(problem: Problem, requestId: string, publicUrl: string) {
  const { code, message, details } = problem;
  return {
    error: { code, message, details, docUrl: `${publicUrl}/docs/errors/${code}`, requestId },
  };
}
