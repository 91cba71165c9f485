import type { DetailCode, ErrorCode } from "./model.ts";

/** One wrong field of a request; `field` is null if no single field is to blame. */
export type ErrorDetail = {
  field: string | null;
  code: DetailCode | (string & {});
  message: string;
  /** Credits, on `CREDITS_INSUFFICIENT`. */
  required?: number;
  available?: number;
};

/** Why the service gave no readable answer; `ABORTED` by your signal. */
export type ConnectionCode = "CONNECTION_FAILED" | "TIMED_OUT" | "ANSWER_UNREADABLE" | "ABORTED";

type Facts = {
  code: string;
  message: string;
  status?: number | null;
  details?: ErrorDetail[];
  docUrl?: string | null;
  requestId?: string | null;
  retryAfterSeconds?: number | null;
  cause?: unknown;
};

/** Every refusal by the service and every failure to reach it; `code` tells them apart. */
export class PosthornError extends Error {
  override readonly name = "PosthornError";
  /** From the service's list of errors, which may grow, or why it could not be reached. */
  readonly code: ErrorCode | ConnectionCode | (string & {});
  /** HTTP status; null if no answer came. */
  readonly status: number | null;
  /** Every invalid field at once. */
  readonly details: ErrorDetail[];
  readonly docUrl: string | null;
  /** Identifies the request in the service's logs. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  /** How often the request was made; 0 if the signal had already ended the call. */
  attempts = 1;
  /** Repeat a send with this key, and the message is accepted at most once. */
  idempotencyKey: string | null = null;

  constructor({ code, message, cause, ...facts }: Facts) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = facts.status ?? null;
    this.details = facts.details ?? [];
    this.docUrl = facts.docUrl ?? null;
    this.requestId = facts.requestId ?? null;
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
  }
}
