import type { Detail, ErrorCode } from "#contract";
import { errors, type Scope } from "#contract/words";
import type { Allowance } from "./operation-route.ts";

/** An answer of the API that is not a success. Thrown by handlers, written by the error handler. */
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

/** Too fast: says when `needed` will be there. */
export function rateLimited({ rate, burst, tokens }: Allowance, needed: number): Problem {
  const missing = Math.min(needed, burst) - tokens;
  return new Problem("RATE_LIMITED", [], {
    "retry-after": String(Math.max(1, Math.ceil(missing / rate))),
  });
}

export function scopeDenied(scope: Scope): Problem {
  const code = "API_KEY_SCOPE_DENIED";
  const message = `This operation requires the scope ${scope}, which the key does not have.`;
  return new Problem(code, [{ field: null, code, message }]);
}

/** Says what kept the body from being read, and where. */
export function jsonInvalid(reason: string): Problem {
  const code = "JSON_INVALID";
  return new Problem(code, [{ field: null, code, message: reason }]);
}

/** Nothing was done, and it may be asked again at once, here or at another node. */
export function unavailable(reason: string): Problem {
  const code = "UNAVAILABLE";
  return new Problem(code, [{ field: null, code, message: reason }], { "retry-after": "1" });
}

/** As much waits already as can be held. */
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
