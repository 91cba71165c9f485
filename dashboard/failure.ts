import type { Detail, ErrorCode } from "#contract";

/** An answer of the API that is not a success, or no answer at all. */
export class Failure extends Error {
  override name = "Failure";
  /** `OFFLINE` is our own: no answer came. */
  readonly code: ErrorCode | "OFFLINE";
  /** 0 if no answer came. */
  readonly status: number;
  readonly details: readonly Detail[];
  readonly requestId: string | undefined;
  readonly docUrl: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, known: Omit<Failure, keyof Error>) {
    super(message);
    this.code = known.code;
    this.status = known.status;
    this.details = known.details;
    this.requestId = known.requestId;
    this.docUrl = known.docUrl;
    this.retryAfterSeconds = known.retryAfterSeconds;
  }
}

type ErrorBody = {
  error?: {
    code?: ErrorCode;
    message?: string;
    details?: Detail[];
    docUrl?: string;
    requestId?: string;
  };
};

const NO_ANSWER = "No answer came. Check your connection.";
const NO_ANSWER_TO_A_WRITE =
  "No answer came. Check your connection; your change may or may not have been made.";
/** Replaces API messages that speak of headers, or of retries that a page makes by itself. */
const OWN_WORDS: { [Code in ErrorCode]?: string } = {
  INTERNAL:
    "Something failed inside Posthorn. If it happens again, give the operator the request id.",
  RATE_LIMITED: "Too many requests.",
};
const NOT_OURS =
  "The answer did not come from Posthorn. Something in between, such as a proxy, may have sent it.";

export function offline(isRead: boolean): Failure {
  return localFailure("OFFLINE", isRead ? NO_ANSWER : NO_ANSWER_TO_A_WRITE);
}

/** A failure that does not come from an answer. */
export function localFailure(code: Failure["code"], message: string): Failure {
  return new Failure(message, {
    code,
    status: 0,
    details: [],
    requestId: undefined,
    docUrl: undefined,
    retryAfterSeconds: undefined,
  });
}

/**
 * Reads the API's one form of error; anything else is reported as coming from an intermediary.
 * Details replace the message, which says no more than that there are details.
 */
export function readFailure(status: number, headers: Headers, body: unknown): Failure {
  const { error } = (typeof body === "object" && body !== null ? body : {}) as ErrorBody;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const own = error?.code && OWN_WORDS[error.code];
  const details = error?.details ?? [];
  const inDetail = details.map(({ message }) => message).join(" ");
  return new Failure(inDetail || (own ?? error?.message ?? NOT_OURS), {
    code: error?.code ?? "INTERNAL",
    status,
    details,
    requestId: error?.requestId,
    docUrl: error?.code ? `/docs/errors/${error.code}` : undefined,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : undefined,
  });
}

/** After such a failure, nobody knows whether the write was done, so the message says that. */
export function ofWrite(failure: Failure): Failure {
  const isRefusal = failure.status >= 300 && failure.status < 500;
  if (failure.code !== "INTERNAL" || isRefusal) return failure;
  const message = `${failure.message} Your change may or may not have been made.`;
  return new Failure(message, failure);
}

/** The API's words for a conflict are those for a dialog; a form that stays open has its own. */
export function inPlace(failure: Failure | undefined, conflict: string): Failure | undefined {
  return failure?.code === "VERSION_CONFLICT" ? new Failure(conflict, failure) : failure;
}

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return localFailure("INTERNAL", error instanceof Error ? error.message : String(error));
}

/** Whether the field of the proof shows it, so that nothing else should. */
export function isProofFailure({ code }: Failure): boolean {
  return code === "PROOF_REQUIRED" || code === "PROOF_FAILED";
}

/** The errors of each field of a form, and the general error. */
export type FieldErrors = { fields: Record<string, string>; general: string | undefined };

/**
 * Assigns `details[].field` to the fields of a form. Details of fields that the form lacks go into
 * the general error, so that nothing the server says is lost.
 */
export function fieldErrors(failure: Failure, known: readonly string[]): FieldErrors {
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { field, message } of failure.details) {
    const name = known.find((each) => field === each || field?.startsWith(`${each}.`));
    if (name === undefined) others.push(message);
    else fields[name] ??= message;
  }
  if (others.length > 0) return { fields, general: others.join(" ") };
  return { fields, general: Object.keys(fields).length > 0 ? undefined : failure.message };
}
