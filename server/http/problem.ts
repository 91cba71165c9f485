import { type Detail, type ErrorCode, errors } from "#contract";

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

/** The one shape of every error, whatever went wrong. */
export function problemBody(problem: Problem, requestId: string, publicUrl: string) {
  const { code, message, details } = problem;
  return {
    error: { code, message, details, docUrl: `${publicUrl}/docs/errors/${code}`, requestId },
  };
}
